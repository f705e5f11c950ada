"""The offline judge: no language model, no network."""
