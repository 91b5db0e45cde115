"""What English asks for beside stems: words that say nothing, and forms that no rule reaches."""

from __future__ import annotations

_STOP = """
a about after again all also am an and any are aren't as at be because been before being but by can can't
could couldn't did didn't do does doesn't doing don't down during each few for from further had hadn't has
hasn't have haven't having he he'd he'll he's her here hers herself him himself his how i i'd i'll i'm
i've if in into is isn't it it's its itself just let's me more most my myself no nor not of off on once
only or other our ours ourselves out over own same shan't she she'd she'll she's should shouldn't so some
such than that that's the their theirs them themselves then there there's these they they'd they'll
they're they've this those through to too under until up us very was wasn't we we'd we'll we're we've were
weren't what what's when when's where where's which while who who's whom whose why why's will with won't
would wouldn't you you'd you'll you're you've your yours yourself yourselves
"""
STOP = frozenset(_STOP.split())
#: What stands behind an apostrophe and is no word of its own.
CLITICS = frozenset(("s", "d", "m", "t", "ll", "re", "ve"))

_IRREGULAR = """
go goes went gone|get gets got gotten|make made|take took taken|see saw seen|come came|give gave given
know knew known|think thought|tell told|say said|find found|feel felt|leave left|keep kept
begin began begun|show shown|hear heard|run ran|bring brought|write wrote written|sit sat|stand stood
lose lost|pay paid|meet met|lead led|understand understood|speak spoke spoken|spend spent|grow grew grown
win won|teach taught|buy bought|send sent|build built|fall fell fallen|drive drove driven
break broke broken|choose chose chosen|wear wore worn|eat ate eaten|drink drank drunk|sing sang sung
swim swam swum|ride rode ridden|rise rose risen|fly flew flown|draw drew drawn|throw threw thrown
catch caught|fight fought|seek sought|sell sold|hold held|sleep slept|dream dreamt|learn learnt|burn burnt
bend bent|lend lent|shoot shot|steal stole stolen|freeze froze frozen|forget forgot forgotten
hide hid hidden|bite bit bitten|shake shook shaken|wake woke woken|strike struck|swear swore sworn
tear tore torn|weave wove woven|become became|bind bound|feed fed|hang hung|ring rang rung|sink sank sunk
spin spun|stick stuck|sweep swept|deal dealt|mean meant|lie lain|dig dug|forgive forgave forgiven
child children|man men|woman women|person people|foot feet|tooth teeth|goose geese|mouse mice|life lives
wife wives|knife knives|leaf leaves|shelf shelves|wolf wolves|half halves|good better best|bad worse worst
far further furthest
"""
_FORMS: dict[str, tuple[str, ...]] = {
    form: tuple(forms)
    for forms in (line.split() for line in _IRREGULAR.strip().replace("\n", "|").split("|"))
    for form in forms
}


def forms(word: str) -> tuple[str, ...]:
    """The word and the irregular forms that mean the same; its regular ones have the same stem anyway."""
    found = _FORMS.get(word)
    if found is None and word.endswith("ing"):
        rest = word[:-3]
        undoubled = rest[:-1] if rest[-1:] == rest[-2:-1] else rest
        found = _FORMS.get(rest) or _FORMS.get(f"{rest}e") or _FORMS.get(undoubled)
    elif found is None and word.endswith("s"):
        found = _FORMS.get(word[:-1])
    return (word,) if found is None else tuple(dict.fromkeys((word, *found)))
