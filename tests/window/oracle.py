# fmt: off
# ruff: noqa: E501, E701
# mypy: ignore-errors
"""The rules of the window by brute force: every allowed start is tried, the longest that fits is taken."""
import json

MARK, ROLES = "__eino_ext_memory_", ("system", "developer", "user", "assistant", "tool", "function")
LISTS = ("content", "multi_content", "user_input_multi_content", "assistant_output_multi_content")
def marked(m, name) -> bool: return isinstance(m.get("extra"), dict) and m["extra"].get(MARK + name) is True

def read(line) -> tuple:  # the message, and why it is not sent in its place: None if it is, "" if nobody is told
    try: m = json.loads(line)
    except ValueError: return None, "bad-json" if line.strip() else ""
    if not isinstance(m, dict) or not isinstance(m.get("role"), str): return None, "not-a-message"
    parts = [p if isinstance(p, dict) else {"type": "text", "text": p} for key in LISTS for p in m.get(key) or ""]
    says = any(p.get("type") not in ("text", "reasoning") or p.get("text", "").strip() for p in parts)
    faults = {"ephemeral-stored": marked(m, "ephemeral"), "": marked(m, "summary"), "unknown-role": m["role"] not in ROLES,
              "empty-message": m["role"] == "assistant" and not says and not m.get("tool_calls")}
    return m, next((name for name in faults if faults[name]), None)

def boundary(text, previous, memctl, fingerprint):  # text: the lines of the messages before the summary
    own, covers = len(text), memctl.get("covers", ...) if isinstance(memctl, dict) else ...
    if covers is ...: return own
    kept, last, after = (covers.get(key) if isinstance(covers, dict) else None for key in ("kept", "last", "next"))
    if [type(kept), type(last), type(after)] != [int, str, str] or kept < 0: return previous
    ends = [fingerprint(b"\n".join(text[max(p - 3, 0):p])) == last for p in range(own + 1)]
    begins = [fingerprint(b"\n".join(text[p:p + 3])) == after for p in range(own + 1)]
    both = [p for p in (own - kept, *range(previous, own + 1)) if p >= 0 and ends[p] and begins[p]]
    return [*both, *(p for p in range(previous, own + 1) if ends[p] or (begins[p] and own - p >= 3)), previous][0]

def window(lines, budget, weigh, fingerprint, *, pending=None, reserve=0, keep_open=False, no_incomplete=False) -> dict:
    pairs = [*map(read, lines), *[({"role": "user", "content": pending}, None)] * (pending is not None)]
    log, code = [m for m, _ in pairs], [fault for _, fault in pairs]
    places = [i for i, m in enumerate(log) if m]
    summaries, b = [i for i in places if code[i] == ""], 0
    for i in summaries: b = boundary([lines[j] for j in places if j < i], b, log[i]["extra"].get("memctl"), fingerprint)
    frontier = places[b - 1] + 1 if b else 0
    calls = {i: log[i].get("tool_calls") or [] for i in places if code[i] is None and log[i]["role"] != "tool"}
    runs = {i: [s for s in calls if s < i][-1:] for i in places if code[i] is None and log[i]["role"] == "tool"}
    for i, at in runs.items():  # at: the message that the run of tool messages around i follows
        answer, ids = log[i].get("tool_call_id"), [c["id"] for s in at for c in calls[s] if isinstance(c.get("id"), str)]
        again = any(runs[j] == at and log[j].get("tool_call_id") == answer for j in runs if j < i)
        code[i] = "orphan-result" if not answer or answer not in ids else "duplicate-result" if again else None
    groups = [[s, *(i for i in runs if runs[i] == [s] and code[i] is None)] for s in calls]
    broken = [i for g in groups[:len(groups) - keep_open] if len(g) <= len(calls[g[0]]) for i in g]
    code = ["orphan-result" if runs.get(i, [i]) < [frontier] <= [i] else "open-call" if i in broken else c for i, c in enumerate(code)]
    end = min([*summaries, *(i for i in calls if log[i]["role"] not in ROLES[:2]), len(log)])
    head, summary = [i for i in places if i < end and code[i] is None], summaries[-1:]
    region = [g for g in groups if g[0] >= max(frontier, end) and code[g[0]] is None]
    kept = [g for g in region if not no_incomplete or not any(marked(log[i], "incomplete") for i in g)]
    users = [n for n, g in enumerate(kept) if log[g[0]]["role"] == "user"]
    inside = [[kept[n] for n in users[-1:]] + kept[m:] for m in range(max(users, default=0) + 1, len(kept))]
    tries, limit = [kept, *(kept[n:] for n in users), *inside], budget - reserve if budget else float("inf")
    sizes = [weigh([log[i] for i in sum(groups, head + summary)]) for groups in tries]
    n = next((n for n, size in enumerate(sizes) if size <= limit > 0), len(tries) - 1)
    rest, anchored = [i for g in tries[n] for i in g if i < len(lines)], bool(users) and n > len(users)
    return {"head": head, "summary": max(summary, default=None), "anchor": rest[0] if anchored else None, "rest": rest[anchored:],
            "covered": sum(i in summaries[:-1] or (i < frontier and i not in head) for i in places), "cut": sum(map(len, region)) - sum(map(len, tries[n])),
            "left_out": [(i, fault) for i, fault in enumerate(code) if fault and i >= frontier],
            "summary_gives_way": bool(summary) and sizes[n] > limit, "over": weigh([log[i] for i in sum(tries[n], head)]) > limit}
