"""The anchor and its zone: local calendar time to UTC milliseconds and back.

A local time that a jump of the clock leaves out counts as if the clock had not jumped yet (02:30 is
03:30); of one that comes twice, the first is meant (PEP 495, fold 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

from foldlog.projections.dates.span import EARLIEST_MS, LATEST_MS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: The epoch as a wall clock shows it.
_NAIVE_EPOCH: Final = datetime.combine(date(1970, 1, 1), time())
_MS: Final = timedelta(milliseconds=1)
_DAY_MS: Final = 86_400_000
_EPOCH_DAY: Final = _NAIVE_EPOCH.toordinal()

#: Years away from both bounds that an anchor may have, so that `next century` is still a date.
_MARGIN_MS: Final = 400 * _DAY_MS


def midnight(day: date) -> datetime:
    """Return the first moment of a day on a wall clock."""
    return datetime.combine(day, time())


@dataclass(frozen=True, slots=True)
class Clock:
    """What the speaker's calendar and clock show."""

    #: Local wall time, naive.
    now: datetime
    today: date
    zone: tzinfo

    @classmethod
    def at(cls, anchor_ms: int, zone: tzinfo) -> Clock:
        """Return the clock at an instant; instants outside the bounds count as the nearest inside."""
        inside = min(max(anchor_ms, EARLIEST_MS + _MARGIN_MS), LATEST_MS - _MARGIN_MS)
        now = (_EPOCH + timedelta(milliseconds=inside)).astimezone(zone).replace(tzinfo=None)
        return cls(now, now.date(), zone)

    def on(self, day: date) -> Clock:
        """Return the clock at noon of another day, to read one date as seen from another."""
        return Clock(datetime.combine(day, time(12)), day, self.zone)

    def ms(self, local: datetime) -> int:
        """Return the instant of a local wall time, UTC ms."""
        naive = (local - _NAIVE_EPOCH) // _MS
        if self.zone is UTC:
            return naive
        offset = local.replace(tzinfo=self.zone).utcoffset()
        return naive if offset is None else naive - offset // _MS

    def midnight_ms(self, day: date) -> int:
        """Return the instant at which a local day begins, UTC ms."""
        if self.zone is UTC:
            return (day.toordinal() - _EPOCH_DAY) * _DAY_MS
        return self.ms(midnight(day))
