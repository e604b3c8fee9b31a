"""The memory controller: questions, evidence, contexts, attempts and agents."""
