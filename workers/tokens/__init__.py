"""How many tokens a text has: exactly with the extra `tokens`, else a bound that is never too low."""
