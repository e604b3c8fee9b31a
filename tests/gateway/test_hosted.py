"""What a provider would do on its own servers is no way out of the sandbox."""

import pytest

from runbook.gateway import Wire, load_calls
from runbook.gateway.hosted import hosted_request
from tests.gateway.scripted import CHAT, chat_request, chat_stream

GEMINI = "/v1beta/models/m:generateContent"
ADDRESS = "https://collector.example/?q=secret"
PICTURE = "data:image/png;base64,iVBORw0KGgo="


def said(*parts) -> list:
    return [{"role": "user", "content": list(parts)}]


HOSTED = [
    (Wire.OPENAI_RESPONSES, {"tools": [{"type": "web_search"}]}, "web_search"),
    (Wire.OPENAI_RESPONSES, {"tools": [{"type": "mcp", "server_url": ADDRESS}]}, "mcp"),
    (Wire.OPENAI_RESPONSES, {"tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]}, "mcp"),
    (
        Wire.OPENAI_RESPONSES,
        {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]},
        "shell",
    ),
    (Wire.OPENAI_RESPONSES, {"background": True}, "background"),
    (Wire.OPENAI_RESPONSES, {"prompt": {"id": "pmpt_1"}}, "prompt"),
    (Wire.OPENAI_RESPONSES, {"input": said({"type": "input_image", "image_url": ADDRESS})}, ADDRESS),
    (Wire.OPENAI_RESPONSES, {"input": [{"output": [{"type": "input_file", "file_url": ADDRESS}]}]}, ADDRESS),
    (Wire.OPENAI_CHAT, {"tools": [{"type": "web_search_preview"}]}, "web_search_preview"),
    (Wire.OPENAI_CHAT, {"web_search_options": {"search_context_size": "low"}}, "web_search_options"),
    (Wire.OPENAI_CHAT, {"plugins": [{"id": "web"}]}, "plugins"),
    (Wire.OPENAI_CHAT, {"messages": said({"type": "image_url", "image_url": {"url": ADDRESS}})}, ADDRESS),
    (Wire.ANTHROPIC_MESSAGES, {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}, "web_fetch"),
    (Wire.ANTHROPIC_MESSAGES, {"tools": [{"type": "code_execution_20250825"}]}, "code_execution"),
    (Wire.ANTHROPIC_MESSAGES, {"mcp_servers": [{"type": "url", "url": ADDRESS}]}, "mcp_servers"),
    (
        Wire.ANTHROPIC_MESSAGES,
        {
            "messages": said(
                {
                    "type": "tool_result",
                    "content": [{"type": "image", "source": {"type": "url", "url": ADDRESS}}],
                }
            )
        },
        ADDRESS,
    ),
    (Wire.GEMINI, {"tools": [{"googleSearch": {}}]}, "googleSearch"),
    (Wire.GEMINI, {"tools": {"url_context": {}}}, "url_context"),
    (Wire.GEMINI, {"contents": [{"parts": [{"file_data": {"file_uri": ADDRESS}}]}]}, ADDRESS),
]

OWN = [
    (
        Wire.OPENAI_RESPONSES,
        {
            "tools": [
                {"type": "function", "name": "exec_command"},
                {"type": "custom", "name": "apply_patch"},
                {"type": "local_shell"},
                {"type": "shell", "environment": {"type": "local"}},
            ],
            "input": [
                *said({"type": "input_image", "image_url": PICTURE}, {"type": "input_text", "text": ADDRESS}),
                {"type": "function_call", "arguments": f'{{"image_url":"{ADDRESS}"}}'},
            ],
            "background": False,
        },
    ),
    (
        Wire.OPENAI_CHAT,
        {
            "tools": [{"type": "function", "function": {"name": "web_search"}}],
            "messages": said({"type": "image_url", "image_url": {"url": PICTURE}}),
        },
    ),
    (
        Wire.ANTHROPIC_MESSAGES,
        {
            "tools": [{"name": "Bash"}, {"type": "bash_20250124"}, {"type": "text_editor_20250728"}],
            "mcp_servers": [],
            "messages": said(
                {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}},
                {"type": "tool_use", "input": {"source": {"type": "url", "url": ADDRESS}}},
            ),
        },
    ),
    (Wire.GEMINI, {"tools": [{"functionDeclarations": [{"name": "google_web_search"}]}]}),
]


@pytest.mark.parametrize(("wire", "request_", "named"), HOSTED)
def test_what_the_provider_would_do_is_found_and_named(wire, request_, named):
    assert named in hosted_request(request_, wire)


@pytest.mark.parametrize(("wire", "request_"), OWN)
def test_tools_and_data_of_the_agent_itself_pass(wire, request_):
    assert hosted_request(request_, wire) == ""


@pytest.mark.parametrize(
    ("wire", "path", "fields"),
    [
        (Wire.OPENAI_CHAT, CHAT, {"tools": [{"type": "web_search"}]}),
        (Wire.ANTHROPIC_MESSAGES, "/v1/messages", {"tools": [{"type": "web_search_20250305"}]}),
        (Wire.GEMINI, GEMINI, {"tools": [{"googleSearch": {}}]}),
    ],
)
def test_a_request_for_a_hosted_tool_is_answered_with_an_error(attempt, provider, wire, path, fields):
    provider.answers = [chat_stream()]
    opened = attempt(wire)
    refused = opened.post(path, chat_request(**fields))
    assert refused.status_code == 400
    assert "earch" in refused.json()["error"]["message"]
    assert "hosted_tools" in refused.json()["error"]["message"]
    assert provider.asked == []
    facts = opened.line.close()
    assert (facts.calls, facts.failure) == (0, "invalid_output")
    assert "earch" in load_calls(opened.folder)[0].detail


def test_a_run_may_allow_hosted_tools(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt(hosted_tools="allow")
    assert opened.post(CHAT, chat_request(tools=[{"type": "web_search"}])).status_code == 200
