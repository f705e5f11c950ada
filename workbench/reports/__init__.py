"""Findings, reports and the gate."""

#: Format of a report → ending of its file.
FORMATS = {
    "html": ".html", "md": ".md", "xlsx": ".xlsx", "csv": ".csv", "parquet": ".parquet", "junit": ".xml", "summary": ".md",
    "langfuse": ".json", "langsmith": ".jsonl", "phoenix": ".json", "mlflow": ".jsonl",
}  # fmt: skip
