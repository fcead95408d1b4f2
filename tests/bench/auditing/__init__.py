"""The benchmark of the audit: a log of many events, and how quickly one item of it is explained."""
