"""Samples that try to break out of a report, and what a report must never hold."""

from __future__ import annotations

from typing import Any

OVERRIDE = "\u202e"
ATTACK = "<script>alert(1)</script><img src=http://evil.example/a.png onerror=alert(1)>"
FORMULA = "=cmd|'/c calc'!A0"

ROWS: list[dict[str, Any]] = [
    {"sample_id": "=1+1<script>", "question": f"{ATTACK} How many items?", "case_type": "</td><b>fact",
     "answer": f"There are 7 items. {OVERRIDE}evil \x07\x1b[31m ![x](http://evil.example/p.png) | `code` {ATTACK}",
     "contexts": [{"doc_id": "../../etc/passwd#1", "text": "</style>There are 5 items."}], "reference": "5 items",
     "expected_docs": ["../../etc/passwd#1"], "must_include": ["5 items"]},
    {"sample_id": "@formula", "question": FORMULA, "answer": FORMULA, "contexts": [{"doc_id": "d#1", "text": "Five."}],
     "reference": "It is 5.", "case_type": "policy"},
    {"sample_id": "zh-1", "question": "企业版支持多少并发会话？", "answer": "企业版支持 300 个并发会话。",
     "contexts": [{"doc_id": "d#2", "text": "企业版支持 500 个并发会话。"}], "reference": "企业版支持 500 个并发会话。",
     "case_type": "fact"},
    {"sample_id": "fine", "question": "How many sessions are there?", "answer": "There are 500 sessions.",
     "contexts": [{"doc_id": "d#3", "text": "There are 500 sessions."}], "reference": "There are 500 sessions.",
     "must_include": ["500 sessions"], "case_type": "policy"},
    {"sample_id": "none", "question": "Is there an answer?", "answer": None, "contexts": [], "reference": "Yes.",
     "error": "HTTP 401 for Bearer sk-abcdefghijklmnop", "case_type": "policy"},
]  # fmt: skip
