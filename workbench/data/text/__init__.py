"""Text: words, sentences, quantities, refusals, citations; pure functions of strings."""
