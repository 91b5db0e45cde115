"""The weights of the signals: fitted by a listwise softmax over LoCoMo's questions, the same for every store.

Each signal is scaled by its best value over the candidates, so a weight is what the best of a signal adds.
Nothing in it knows a name, a topic or a wording.
"""

from __future__ import annotations

WEIGHTS: dict[str, float] = {
    "own": 1.70,  # BM25 of the text
    "share": 0.81,  # share of the query's words in the text, by their idf
    "same": 6.00,  # not fitted: the very words of the query, nothing else, come first
    "near": 2.64,  # BM25 of the turns up to 2 before and after
    "around": 1.36,  # BM25 of the turns up to 5 before and after
    "session": 1.32,  # BM25 of the turns without a long pause
    "answer": 1.75,  # own BM25 of the turn before, if that is a question
    "statement": 0.63,  # the text is no question
    "length": 2.96,  # logarithm of the length
    "date": 7.88,  # share of the query's date words that fit the day
    "when": 1.56,  # words of time, for a query that asks when
    "many": 1.56,  # numbers, for a query that asks how many
    "speaker": 1.05,  # said by the one whom the query names
}
