"""The memory command an agent uses inside the sandbox: look into the haystack, hand in evidence."""
