"""CognitiveMemory: the memory of a user without its tiers, as agentflow-go's agents see theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.api.family import of_our_family
from memctl.core.cognitive import CognitiveRecord

if TYPE_CHECKING:
    from memctl.api.memory import Memory
    from memctl.core.budget import RecallWeights


class CognitiveMemory:
    """What an agent remembers and recalls; in which tier it lies, `Memory` and its passes decide."""

    def __init__(self, memory: Memory, weights: RecallWeights | None = None) -> None:
        self._memory = memory
        self._weights = weights

    @of_our_family
    def remember(self, record: CognitiveRecord) -> str:
        """Store a record, durable on return; its id, a fresh one where it has none. Raises BadInput.

        A new one comes into hot, accessed now. With the id of a stored one, its fields take the place of
        what that has, but for tier, accesses and pin.
        """
        return self._memory.remember(record.fields()).ids[0]

    @of_our_family
    def recall(self, query: str = "", limit: int = 0) -> list[CognitiveRecord]:
        """The records that answer a query, at most `limit`, oldest first; they count as accessed.

        A limit of 0 or less stands for the setting `recall.limit`, and so does a weight of 0 or less for
        the one of the ranker.
        """
        given = (None, None, None) if self._weights is None else tuple(self._weights)
        semantic, recency, importance = (
            None if weight is None or weight <= 0 else weight for weight in given
        )
        answer = self._memory.recall(
            query,
            limit=limit if limit > 0 else None,
            weight_semantic=semantic,
            weight_recency=recency,
            weight_importance=importance,
        )
        return [CognitiveRecord.of(one.record) for one in answer.in_time()]

    @of_our_family
    def list_all(self) -> list[CognitiveRecord]:
        """All records, the hottest first, then those with the newest access."""
        return [CognitiveRecord.of(record) for record in self._memory.list_all()]
