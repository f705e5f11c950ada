"""Why samples fail: causes, missed documents, vocabulary, slices, comparison, calibration."""
