"""Scores: parsed answers, matchers, and what a question's `eval_function` asks for."""
