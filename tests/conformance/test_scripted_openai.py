"""The scripted model on the two OpenAI wires, as the openai package sees it."""

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest

BASH: dict[str, Any] = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "timeout": {"type": "number"}},
    "required": ["command", "timeout"],
}
CHAT_TOOL: Any = {"type": "function", "function": {"name": "bash", "parameters": BASH}}
RESPONSES_TOOL: Any = {"type": "function", "name": "bash", "parameters": BASH, "strict": False}

Client = Callable[[str], openai.OpenAI]


@pytest.fixture
def client(model_url: str) -> Client:
    return lambda mode: openai.OpenAI(base_url=f"{model_url}/m/{mode}/v1", api_key="k", max_retries=0)


def chat(client: openai.OpenAI, results: tuple[str, ...] = (), **more: Any) -> Any:
    messages: list[Any] = [{"role": "user", "content": "Find it."}]
    for number, text in enumerate(results):
        function = {"name": "bash", "arguments": '{"command": "true"}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return client.chat.completions.create(model="m-1", messages=messages, tools=[CHAT_TOOL], **more)


def test_chat_asks_for_a_command_with_all_required_arguments(client: Client) -> None:
    reply = chat(client("ok"))
    (call,) = reply.choices[0].message.tool_calls
    assert call.function.name == "bash"
    assert json.loads(call.function.arguments) == {"command": "ls; cat question.json", "timeout": 60_000}
    assert reply.choices[0].finish_reason == "tool_calls"
    assert (reply.model, reply.usage.prompt_tokens) == ("m-1", 1000)
    assert reply.usage.prompt_tokens_details.cached_tokens == 100


def test_chat_goes_on_by_the_results_in_the_request(client: Client) -> None:
    reply = chat(client("ok"), ("one", "two", "three"))
    assert "memory_module_output.json" in reply.choices[0].message.tool_calls[0].function.arguments
    assert "FINAL-MESSAGE-MARK" in chat(client("ok"), ("1", "2", "3", "4")).choices[0].message.content


def test_a_streamed_chat_adds_up_to_the_whole_one(client: Client) -> None:
    with client("think").chat.completions.stream(
        model="m-1",
        messages=[{"role": "user", "content": "Find it."}],
        tools=[CHAT_TOOL],
        stream_options={"include_usage": True},
    ) as stream:
        streamed = stream.get_final_completion()
    whole = chat(client("think"))
    assert streamed.choices[0].message.tool_calls is not None
    arguments = [one.choices[0].message.tool_calls[0].function.arguments for one in (streamed, whole)]
    assert arguments[0] == arguments[1]
    assert streamed.usage is not None
    assert streamed.usage.total_tokens == whole.usage.total_tokens


def test_a_streamed_chat_tells_usage_only_when_asked(client: Client) -> None:
    assert all(chunk.usage is None for chunk in chat(client("ok"), stream=True))


def test_responses_streamed_and_whole_say_the_same(client: Client) -> None:
    arguments: dict[str, Any] = {"model": "m-1", "input": "Find it.", "tools": [RESPONSES_TOOL]}
    whole = client("think").responses.create(**arguments)
    with client("think").responses.stream(**arguments) as stream:
        streamed = stream.get_final_response()
    assert [item.type for item in whole.output] == ["reasoning", "function_call"]
    assert [item.type for item in streamed.output] == ["reasoning", "function_call"]
    assert whole.usage is not None
    assert whole.usage.input_tokens_details.cached_tokens == 100
    assert whole.usage.output_tokens_details.reasoning_tokens == 20


def test_parallel_asks_for_two_commands_at_once(client: Client) -> None:
    reply = client("parallel").responses.create(model="m-1", input="Find it.", tools=[RESPONSES_TOOL])
    calls = [item for item in reply.output if item.type == "function_call"]
    assert len({call.call_id for call in calls}) == 2


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        ("err401", openai.AuthenticationError),
        ("err403", openai.PermissionDeniedError),
        ("err429", openai.RateLimitError),
        ("err400", openai.BadRequestError),
        ("err500", openai.InternalServerError),
        ("err529", openai.InternalServerError),
        ("ctx", openai.BadRequestError),
    ],
)
def test_failures_are_what_the_package_knows(client: Client, mode: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        chat(client(mode))
    with pytest.raises(error):
        client(mode).responses.create(model="m-1", input="Find it.")


def test_late_failures_come_after_two_commands(client: Client) -> None:
    assert chat(client("late500"), ("one",)).choices
    with pytest.raises(openai.InternalServerError):
        chat(client("late500"), ("one", "two"))


def test_a_storm_of_rate_limits_passes_and_says_how_long(client: Client) -> None:
    waits = []
    for _ in range(3):
        with pytest.raises(openai.RateLimitError) as caught:
            chat(client("storm-a"))
        waits.append(caught.value.response.headers["retry-after"])
    assert waits == ["1", "1", "1"]
    assert chat(client("storm-a")).choices
    with pytest.raises(openai.RateLimitError):
        chat(client("storm-b"))


def test_the_first_requests_fail_and_the_next_ones_do_not(client: Client) -> None:
    for _ in range(2):
        with pytest.raises(openai.InternalServerError):
            chat(client("fail2"))
    assert chat(client("fail2")).choices


def test_a_polite_end_and_a_cut_one_are_told_apart(client: Client) -> None:
    chunks = list(chat(client("trunc"), stream=True))
    assert chunks
    assert all(chunk.choices[0].finish_reason is None for chunk in chunks)
    with pytest.raises(openai.APIConnectionError):
        list(chat(client("cut"), stream=True))


def test_a_model_can_be_silent_broken_or_another(client: Client) -> None:
    assert chat(client("null")).choices is None
    assert chat(client("mismatch")).model == "another-model-2"
    (call,) = chat(client("badjson-x")).choices[0].message.tool_calls
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.function.arguments)
    (call,) = chat(client("badtool")).choices[0].message.tool_calls
    assert call.function.name == "no_such_tool"
    assert chat(client("empty")).choices[0].message.content == ""
    with pytest.raises(openai.APITimeoutError):
        chat(client("hang").with_options(timeout=0.3))


def test_models_are_listed_one_and_all(client: Client) -> None:
    assert "scripted-model" in [model.id for model in client("ok").models.list()]
    assert client("ok").models.retrieve("m-1").id == "m-1"


def test_requests_are_logged_with_their_headers(
    client: Client, requests: Callable[[str], list[dict[str, Any]]]
) -> None:
    chat(client("ok-logged"))
    (line,) = requests("/m/ok-logged/")
    assert (line["method"], line["path"]) == ("POST", "/m/ok-logged/v1/chat/completions")
    assert line["headers"]["authorization"] == "Bearer k"
    assert line["body"]["model"] == "m-1"
