"""The usual sampling of the stages that ask a model."""

from runbook.endpoint.config import Sampling

READER_SAMPLING = Sampling(temperature=0.6, top_p=0.95, top_k=20, max_output_tokens=20_000)
JUDGE_SAMPLING = Sampling(reasoning_effort="medium", max_output_tokens=4_096)
