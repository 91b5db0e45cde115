"""Relevance: how well documents answer a query, from the words of both and from what stands around them."""
