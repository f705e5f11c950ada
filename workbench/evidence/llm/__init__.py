"""A language model as judge, spent carefully."""

from workbench.evidence.llm.judge import LLMJudge

__all__ = ["LLMJudge"]
