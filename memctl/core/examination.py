"""Examination: one pass over a log that finds all that is wrong with its messages and plans their repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memctl.core import calls, marker, turns
from memctl.core.line_examination import DEFAULT, LineExamination, Summary
from memctl.core.mending import whole_text
from memctl.core.problems import ERROR, INFO, TABLE, WARNING
from memctl.core.seen import Seen
from memctl.core.times import stored

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from memctl.core.lines import Piece

_ROLES_MAX = 1000


class Examination(LineExamination):
    """What a log holds and what is wrong with it: with its lines, and with its messages in their turn."""

    def __init__(self, wanted: Collection[str] = DEFAULT) -> None:
        super().__init__(wanted)
        self._reader = turns.Reader()
        self._group: calls.Group | None = None
        self._behind_user: list[tuple[calls.Group, frozenset[str]]] = []
        self._due: list[tuple[calls.Group, frozenset[str]]] = []
        self._user: tuple[int, int, int] | None = None
        self._moment: datetime | None = None
        self._seen = Seen()

    def feed(self, offset: int, size_bytes: int, data: bytes, terminated: bool) -> None:
        """The next line, as it is described where lines are looked at by themselves."""
        super().feed(offset, size_bytes, data, terminated)
        if self._due:
            self._answer_due()

    def finish(self) -> None:
        """The log has ended: calls of the last turn that have no result may still get it."""
        self._end_group()
        for group, missing in self._behind_user:
            self._name_open_calls(group, missing, WARNING, [])
        self._behind_user.clear()

    # -- messages -----------------------------------------------------------------------------------------

    def _object(self, piece: Piece, number: int, offset: int, size: int) -> str:
        """Take in one message of the present line; the code for which it leaves that, or ""."""
        value = piece.message or {}
        place = self.messages
        self.messages += 1
        self.starts.append(offset)
        if number:
            self.piece_of[place] = number
        role = value["role"]
        if role not in self.roles and len(self.roles) >= _ROLES_MAX:
            role = "(others)"
        self.roles[role] = self.roles.get(role, 0) + 1
        extra = value.get("extra")
        own: Any = None
        leaves = ""
        again = False
        if type(extra) is dict:
            own = extra.get(marker.OWN)
            if type(own) is not dict:
                own = None
            id = own.get("id") if own else None
            if type(id) is str and id and id in self._seen:
                again = True
                leaves = self._again(id, extra, piece, offset, size)
            if extra.get(marker.EPHEMERAL) is True:
                leaves = self._ephemeral(offset, size)
        leaves = leaves or self._in_its_turn(piece, place, offset, size)
        if leaves:
            if leaves not in self.wanted:
                return ""
            self.plan.gone.append(place)
            return leaves
        if again:
            detail = f"id {calls.shown(own['id'])}"
            self._note("duplicate-id", WARNING, self.lines, offset, size, detail, False)
        if own:
            self._remember(own, piece, offset, size)
        if type(extra) is dict and len(extra) > 1 - (own is None):
            self._marked(extra, own or {}, place, offset, size)
        return ""

    def _marked(self, extra: dict[str, Any], own: dict[str, Any], place: int, offset: int, size: int) -> None:
        """Markers of a message that stays."""
        if extra.get(marker.INCOMPLETE) is True:
            self.markers["incomplete"] += 1
            self._note("incomplete", INFO, self.lines, offset, size, "", False)
        if extra.get(marker.SUMMARY) is True:
            self.markers["summary"] += 1
            self.last_summary = place
            covers = {"covers": own["covers"]} if "covers" in own else {}
            summary = Summary(place, self.lines, offset, size, {"extra": {marker.OWN: covers}})
            self.summaries.append(summary)
            self._fresh.append(summary)

    def _ephemeral(self, offset: int, size: int) -> str:
        self.markers["ephemeral"] += 1
        code = "ephemeral-stored"
        self._note(code, WARNING, self.lines, offset, size, "", code in self.wanted)
        return code

    def _again(self, id: str, extra: dict[str, Any], piece: Piece, offset: int, size: int) -> str:
        """The code for which a message leaves whose id was met before, or "": then that is noted later."""
        # A summary hides what is in front of it: taken out, that would be shown again.
        if extra.get(marker.SUMMARY) is True or piece.printed not in self._seen:
            return ""
        code = "duplicate-message"
        self._note(code, WARNING, self.lines, offset, size, f"id {calls.shown(id)}", code in self.wanted)
        return code

    def _remember(self, own: dict[str, Any], piece: Piece, offset: int, size: int) -> None:
        """Id and time of a message that stays, for what comes behind it."""
        id = own.get("id")
        if type(id) is str and id:
            self._seen.add(id, piece.printed)
        time = own.get("created_at")
        if time is None:
            return
        moment = stored(time)
        if moment is None:
            self._note("bad-time", WARNING, self.lines, offset, size, calls.shown(str(time)), False)
            return
        if self._moment is not None and moment < self._moment:
            seconds = (self._moment - moment).total_seconds()
            self._note("time-order", INFO, self.lines, offset, size, f"{seconds:,.6g} s back", False)
        self._moment = moment

    def _in_its_turn(self, piece: Piece, place: int, offset: int, size: int) -> str:
        """What the message is behind those before it; the code for which it leaves, or ""."""
        before = self._reader.group
        value = piece.message or {}
        flags, code = self._reader.classify(value)
        if flags & turns.SUMMARY:
            return ""
        if flags & turns.LEFT:
            mends = code in self.wanted
            detail = ""
            if code in ("orphan-result", "duplicate-result"):
                detail = calls.call_detail(value.get("tool_call_id"))
            elif code == "unknown-role":
                detail = f"role {calls.shown(value['role'])}" if value["role"] else "role is empty"
            self._note(code, TABLE[code].severity, self.lines, offset, size, detail, mends)
            if TABLE[code].remedy:
                return code
            self._user = None
            return ""
        if flags & turns.RESULT:
            if self._group is not None:
                self._group.last = place
                self._fresh.append(self._group)
        elif flags & turns.START and before is not None:
            self._end_group(before)
        if flags & turns.CALL:
            made = value["tool_calls"]
            self._group = calls.Group(made if type(made) is list else [], place, self.lines, offset, size)
            self._fresh.append(self._group)
        if flags & turns.USER:
            if self._user is not None:
                self._note("dangling-user", WARNING, *self._user, "", False)
            self._user = (self.lines, offset, size)
            self._due += self._behind_user
            self._behind_user.clear()
        else:
            self._user = None
        return ""

    # -- calls --------------------------------------------------------------------------------------------

    def _end_group(self, group: turns.OpenGroup | None = None) -> None:
        """Another group starts, or the log has ended: whether a call is still open depends on the turn."""
        group = group or self._reader.group
        if self._group is not None and group is not None and not group.done:
            missing = group.ids - group.answered
            self._behind_user.append((self._group, missing if group.sound else frozenset()))
        self._group = None

    def _answer_due(self) -> None:
        """Results for the open calls of earlier turns, behind the last message of each group."""
        for group, missing in self._due:
            results: list[bytes] = []
            self._name_open_calls(group, missing, ERROR, results)
            for text in results:
                self.plan.add_message(group.last, group.behind, group.line, text)
        self._due.clear()

    def _name_open_calls(
        self, group: calls.Group, missing: frozenset[str], severity: str, results: list[bytes]
    ) -> None:
        mends = severity == ERROR and "open-call" in self.wanted and bool(missing) and group.behind >= 0
        for id, call, detail in calls.open_calls(group.calls, missing):
            self.open_calls += 1
            self._note("open-call", severity, group.line, group.offset, group.size, detail, mends)
            if mends and id:
                text = calls.interrupted(call, group.place, group.offset)
                results.append(whole_text(text) if "bad-text" in self.wanted else text)
