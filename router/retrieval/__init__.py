"""Rankings: one retriever a signal, their fusion, and what turns scores into probabilities. Plain data in and out."""
