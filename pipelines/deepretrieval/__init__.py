"""DeepRetrieval (arXiv 2503.00223): learn to rewrite a need into a query by reinforcement."""
