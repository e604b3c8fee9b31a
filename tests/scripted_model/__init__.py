"""A model server that answers by script, for tests: `python -m tests.scripted_model --port 0`.

It speaks OpenAI Responses and Chat Completions, Anthropic Messages and Gemini, streamed and whole. What it
does is chosen by a path prefix, http://HOST:PORT/m/MODE/..., see `modes`.
"""
