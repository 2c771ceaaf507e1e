from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import resay
from resay.cli.app import COMMANDS, imported, run
from simulation import Refused, SimulatedProvider
from support.alone import needs
from support.cli import resay_cli, resay_here
from support.installed import installed

QUESTION = "Tell me about the Sydney Harbour Bridge."
RESPONSE = "The bridge opened in 1932. It has 31 lamps."


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "response.txt").write_text(RESPONSE)
    for name, lamps in (("a", 11), ("b", 22), ("c", 33)):
        (tmp_path / f"{name}.txt").write_text(f"The bridge opened in 1932. It has {lamps} lamps.")
    return tmp_path


@pytest.fixture
def environment(
    simulated: SimulatedProvider, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SimulatedProvider]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("NO_COLOR", "1")
    return simulated


def test_check_flags(files: Path) -> None:
    words = ("check", "--response", "response.txt", "--method", "ngram")
    done = resay_cli(*words, "--samples", "a.txt", "b.txt", "c.txt", cwd=files)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("FLAGGED  1 of 2 sentences > 0.50 with 3 samples\n")
    assert "sample 1 says: It has 11 lamps." in done.stdout
    again = resay_here(
        *words, "--samples", "a.txt", "--samples", "b.txt", "--samples", "c.txt", cwd=files
    )
    assert again.stdout.splitlines()[0] == done.stdout.splitlines()[0]


def test_check_prints_one_json_document(files: Path) -> None:
    done = resay_here(
        "check", "-r", "response.txt", "--method", "ngram", "--json", "--samples",
        "a.txt", "b.txt", "c.txt", cwd=files,
    )  # fmt: skip
    assert done.returncode == 1
    verdict = resay.Verdict.from_dict(json.loads(done.stdout))
    assert verdict.flagged
    assert done.stderr == ""


def test_check_is_fine_or_inconclusive(files: Path) -> None:
    (files / "short.txt").write_text("The bridge opened in 1932.")
    words = ("check", "-r", "short.txt", "--method", "ngram", "--samples")
    assert resay_here(*words, "a.txt", "b.txt", "c.txt", cwd=files).returncode == 0
    done = resay_here(*words, "a.txt", cwd=files)
    assert done.returncode == 3
    assert done.stdout.startswith("INCONCLUSIVE  only 1 usable sample; `sampling.min` is 3")


def test_check_against_references(files: Path, environment: SimulatedProvider) -> None:
    done = resay_here(
        "check", "-r", "response.txt", "--references", "a.txt", "--model", "openai/simulated",
        "--api-base", environment.base_url, cwd=files,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "reference 1 (a.txt) says: It has 11 lamps." in done.stdout
    assert environment.calls == 1


def test_a_pattern_that_no_file_matches_is_named(files: Path) -> None:
    done = resay_here("check", "-r", "response.txt", "--references", "none/*.md", cwd=files)
    assert done.returncode == 2
    assert done.stderr == "no file matches 'none/*.md'\n"


def test_check_draws_samples(files: Path, environment: SimulatedProvider) -> None:
    (files / "wrong.txt").write_text("The Sydney Harbour Bridge opened in May 1947.")
    done = resay_here(
        "check", "-r", "wrong.txt", "--question", QUESTION, "--model", "openai/simulated",
        "--api-base", environment.base_url, cwd=files,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    # Samples are drawn and compared, twice if in doubt.
    assert environment.calls in (2, 4)


@pytest.mark.parametrize("wrapped", [False, True])
def test_check_takes_the_tokens_of_the_response(files: Path, wrapped: bool) -> None:
    pieces = [("The bridge", -0.1), (" opened in 1932.", -0.2), (" It has 31 lamps.", -4.0)]
    tokens = [{"token": token, "logprob": logprob} for token, logprob in pieces]
    (files / "tokens.json").write_text(json.dumps({"content": tokens} if wrapped else tokens))
    done = resay_here(
        "check",
        "-r",
        "response.txt",
        "--method",
        "logprobs",
        "--logprobs",
        "tokens.json",
        cwd=files,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("FLAGGED  passage 0.76 > 0.50, 1 of 2 sentences > 0.50\n")


@pytest.mark.parametrize("wrapped", [False, True])
def test_check_takes_the_conversation_before_the_response(files: Path, wrapped: bool) -> None:
    function = {"name": "delete_coupons", "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": function}
    messages = [
        {"role": "user", "content": "Delete the coupons."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"deleted": 0}'},
    ]
    (files / "messages.json").write_text(
        json.dumps({"messages": messages} if wrapped else messages)
    )
    (files / "answer.txt").write_text("I deleted the coupons.")
    words = ("check", "-r", "answer.txt", "--messages", "messages.json", "--method", "actions")
    done = resay_here(*words, cwd=files)
    assert done.returncode == 1, done.stderr
    assert "call 1 (delete_coupons)" in done.stdout
    done = resay_here(*words, "--question", "Why?", cwd=files)
    assert done.returncode == 2
    assert "pass `--question` or `--messages`, not both" in done.stderr


@needs("resay_lab")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "-r", "nowhere.txt"], "cannot read 'nowhere.txt'"),
        (["check", "-r", "response.txt"], "needs samples"),
        (
            ["check", "-r", "response.txt", "--samples", "a.txt", "--method", "prompt"],
            "needs a judge",
        ),
        (["check", "-r", "response.txt", "--method", "logprobs"], "pass them as `--logprobs`"),
        (["check", "-r", "response.txt", "--logprobs", "a.txt"], "'a.txt' is not valid JSON"),
        (["check", "-r", "response.txt", "--messages", "a.txt"], "'a.txt' is not valid JSON"),
        (["check", "-r", "response.txt", "--method", "ngarm"], "did you mean 'ngram'"),
        (["check"], "Missing option '--response'"),
        (
            ["check", "-r", "response.txt", "-p", "p.yaml", "--method", "ngram"],
            "exclude each other",
        ),
        (["policy", "check", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["ask"], "Missing argument"),
        (["bench", "wikibio", "--data", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_exits_with_two_and_says_why(files: Path, words: list[str], message: str) -> None:
    done = resay_here(*words, cwd=files)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_ask(environment: SimulatedProvider) -> None:
    words = ("ask", QUESTION, "--model", "openai/simulated", "--api-base", environment.base_url)
    done = resay_here(*words)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("FLAGGED")
    done = resay_here(*words, "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["action"]) == (1, "annotate")
    assert answer["verdict"]["flagged"] is True
    assert answer["usage"]["calls"] in (3, 5)


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
def test_ask_prints_the_answer_while_it_is_written(
    environment: SimulatedProvider, mode: str
) -> None:
    done = resay_here(
        "ask", QUESTION, "--model", "openai/simulated", "--api-base", environment.base_url,
        "--stream-mode", mode,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    text, _, verdict = done.stdout.partition("FLAGGED")
    assert text.startswith("The Sydney Harbour Bridge is")
    assert "sentences > 0.50" in verdict


def test_a_streamed_answer_that_is_withheld_is_cut_off(
    environment: SimulatedProvider, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("chain: [{method: prompt}]\naction: {do: block, message: Withheld.}\n")
    done = resay_here(
        "ask", QUESTION, "--policy", str(policy), "--model", "openai/simulated",
        "--api-base", environment.base_url, "--stream-mode", "hold",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Withheld." in done.stdout
    whole = resay_here(
        "ask", QUESTION, "--model", "openai/simulated", "--api-base", environment.base_url,
        "--stream-mode", "after",
    ).stdout.partition("FLAGGED")[0].strip()  # fmt: skip
    assert whole not in done.stdout


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
def test_the_message_of_a_streamed_answer_is_printed_once(
    environment: SimulatedProvider, tmp_path: Path, mode: str
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("chain: [{method: prompt}]\naction: {do: block, message: Withheld.}\n")
    done = resay_here(
        "ask", QUESTION, "--policy", str(policy), "--model", "openai/simulated",
        "--api-base", environment.base_url, "--stream-mode", mode,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("Withheld.") == 1
    if mode == "after":
        assert "\n\nWithheld.\n\nFLAGGED" in done.stdout


def test_ask_prints_a_withheld_answer_nowhere(
    environment: SimulatedProvider, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("chain: [{method: ngram}]\naction: {do: block, message: Withheld.}\n")
    words = ("ask", QUESTION, "-m", "openai/simulated", "--api-base", environment.base_url)
    for extra in ((), ("--json",)):
        done = resay_here(*words, "-p", policy, *extra)
        assert done.returncode == 1
        assert "Withheld." in done.stdout
        assert "Bradfield" not in done.stdout


def test_ask_without_an_answer(environment: SimulatedProvider) -> None:
    environment.set_faults(Refused())
    done = resay_here(
        "ask", QUESTION, "--model", "openai/simulated", "--api-base", environment.base_url, "--json"
    )
    assert done.returncode == 4
    assert "check the API key" in done.stderr
    assert "sk-test" not in done.stderr
    assert done.stdout == ""


def test_policy_check(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("chain: [{method: ngram}, {method: prompt}]\naction: {do: block}\n")
    done = resay_here("policy", "check", policy)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{policy}: valid; ngram -> prompt; action: block\n\n")
    policy.write_text("chain:\n  - method: ngram\ntreshold: {}\n")
    done = resay_here("policy", "check", policy)
    assert done.returncode == 2
    assert f"{policy}:3: treshold: unknown key 'treshold'; did you mean 'threshold'?" in done.stderr


@pytest.mark.parametrize(
    "section",
    [
        "chain: [{method: facts, when: {call: 'nowhere:f'}}]",
        "references: {from: ['nowhere:f']}",
        "non_claims: 'nowhere:f'",
        "action: {do: regenerate, retriever: 'nowhere:f'}",
        "action: {do: regenerate, retriever: {kind: folder, path: nowhere}}",
        "observers: [{to: 'nowhere:f'}]",
        "second_opinion: {model: acme/large, ask: samples}\nchain: [{method: logprobs}]",
        "journal: {}",
    ],
)
def test_policy_check_refuses_what_a_guard_refuses(
    section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if resay-server was not installed.
    monkeypatch.setattr("resay.reporting.sinks.installed_names", lambda group: ())
    text = section if "chain:" in section else f"chain: [{{method: facts}}]\n{section}"
    (tmp_path / "policy.yaml").write_text(text)
    with pytest.raises(resay.ConfigurationError) as error:
        resay.Guard(tmp_path / "policy.yaml")
    done = resay_here("policy", "check", tmp_path / "policy.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{error.value}\n"


def test_policy_check_leaves_the_retriever_to_the_application(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("chain: [{method: facts}]\naction: {do: regenerate}\n")
    done = resay_here("policy", "check", policy)
    assert done.returncode == 0
    assert done.stdout.startswith(
        f"{policy}: valid; facts; action: regenerate\n"
        "the application must pass a retriever: Guard(..., retriever=...)\n\n"
    )


def test_policy_schema() -> None:
    done = resay_here("policy", "schema")
    assert json.loads(done.stdout)["$schema"].endswith("2020-12/schema")


@needs("uvicorn")
def test_demo_catches_a_made_up_sentence() -> None:
    done = resay_here("demo")
    assert done.returncode == 0, done.stderr
    assert "FLAGGED" in done.stdout
    assert "sample 1 says:" in done.stdout
    assert "chain:" in done.stdout


def test_version() -> None:
    assert resay_here("--version").stdout.strip() == resay.__version__


@needs("resay_server", "resay_lab")
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_listed_of_a_command_is_what_its_own_help_begins_with(name: str) -> None:
    assert imported(name).help.partition("\n")[0] == COMMANDS[name].help


def test_a_command_of_another_distribution_says_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("resay.cli.app.installed_names", lambda group: ())
    monkeypatch.setattr(sys, "argv", ["resay", "serve"])
    assert run() == 2
    assert capsys.readouterr().err == (
        "`resay serve` needs 'resay-server'; install it with: pip install 'resay[server]'\n"
    )


GREETING = """
import sys
import typer

print("imported", file=sys.stderr)
app = typer.Typer(add_completion=False)


@app.command()
def greet(name: str) -> None:
    \"\"\"Say good morning.\"\"\"
    typer.echo(f"Good morning, {name}")
"""


def test_other_distributions_add_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    points = {"resay.commands": "greet = greeting:app"}
    with installed(tmp_path, GREETING, points, name="greeting"):
        monkeypatch.setattr(sys, "argv", ["resay", "--help"])
        assert run() == 0
        helped = capsys.readouterr()
        assert "Installed by greeting." in helped.out
        assert "imported" not in helped.err
        monkeypatch.setattr(sys, "argv", ["resay", "greet", "Ada"])
        assert run() == 0
        assert capsys.readouterr().out == "Good morning, Ada\n"
        monkeypatch.setattr(sys, "argv", ["resay", "greet", "--help"])
        assert run() == 0
        assert "Say good morning." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "raise SystemExit(0)",
            "cannot load the command 'greet' from 'greeting:app': SystemExit\n",
        ),
        (
            "import no_such_module",
            "cannot load the command 'greet' from 'greeting:app': ModuleNotFoundError\n",
        ),
        (
            "from resay.adapters import require_optional\n"
            "require_optional('no_such_module', package='greetings', extra='greet', purpose='it')",
            "it needs 'greetings'; install it with: pip install 'resay[greet]'\n",
        ),
        ("app = 7", "the command 'greet' must be a typer.Typer, not a int\n"),
    ],
)
def test_a_command_that_cannot_be_loaded_breaks_no_other(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    code: str,
    message: str,
) -> None:
    points = {"resay.commands": "greet = greeting:app"}
    with installed(tmp_path, code, points, name="greeting"):
        monkeypatch.setattr(sys, "argv", ["resay", "--help"])
        assert run() == 0
        assert "Check an existing response." in capsys.readouterr().out
        monkeypatch.setattr(sys, "argv", ["resay", "greet"])
        assert run() == 2
        assert capsys.readouterr().err == message


@needs("resay_lab")
@pytest.mark.parametrize("words", [("--help",), ("--version",), ("bench", "--help")])
def test_a_commands_code_is_imported_when_it_runs(words: tuple[str, ...]) -> None:
    program = (
        "import sys\n"
        "from resay.cli.app import run\n"
        f"sys.argv = ['resay', *{words!r}]\n"
        "assert run() == 0\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert "resay.cli.app" in loaded
    assert not loaded & {
        "resay.core",
        "resay_lab.benchmarks.entries",
        "resay.guard",
        "resay.policy",
        "resay.scorers",
    }
    assert not {name for name in loaded if name.startswith("resay.cli.")} - {"resay.cli.app"}


ALLOWING = "chain: [{method: ngram}]\naction: {do: block, message: Withheld by the file.}\n"


def test_the_policy_that_the_environment_names_applies(
    files: Path, environment: SimulatedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "block.yaml").write_text(ALLOWING)
    monkeypatch.setenv("RESAY_POLICY", str(files / "block.yaml"))
    samples = ("--samples", "a.txt", "b.txt", "c.txt")
    # The default policy would ask a judge, and there is no model.
    done = resay_here("check", "-r", "response.txt", *samples, cwd=files)
    assert done.stdout.startswith("FLAGGED  1 of 2 sentences > 0.50 with 3 samples\n"), done.stderr
    assert done.stderr == f"policy: {files / 'block.yaml'} (RESAY_POLICY)\n"
    words = ("ask", QUESTION, "--model", "openai/simulated", "--api-base", environment.base_url)
    done = resay_here(*words, cwd=files)
    assert done.stdout.startswith("Withheld by the file.\n"), done.stdout
    done = resay_here(*words, "--json", cwd=files)
    assert json.loads(done.stdout)["text"] == "Withheld by the file."


def test_an_option_takes_precedence_over_the_environment(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "block.yaml").write_text("threshold: {sentence: 0.99}\n" + ALLOWING)
    (files / "own.yaml").write_text("chain: [{method: ngram}]\nsampling: {min: 4, max: 4}\n")
    monkeypatch.setenv("RESAY_POLICY", "block.yaml")
    words = ("check", "-r", "response.txt", "--samples", "a.txt", "b.txt", "c.txt")
    done = resay_here(*words, "--policy", "own.yaml", cwd=files)
    assert "`sampling.min` is 4" in done.stdout
    assert done.stderr == ""
    done = resay_here(*words, "--method", "ngram", cwd=files)
    assert done.stdout.startswith("FLAGGED  1 of 2 sentences > 0.50")
    assert done.stderr == ""


def test_a_policy_of_the_environment_that_cannot_be_read(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESAY_POLICY", "missing.yaml")
    done = resay_here("check", "-r", "response.txt", "--samples", "a.txt", cwd=files)
    assert done.returncode == 2
    assert "missing.yaml" in done.stderr


@pytest.mark.parametrize(
    ("words", "package"),
    [
        ("check -r response.txt --samples a.txt", ""),
        ("ask Who? -m openai/x", ""),
        ("policy check", ""),
        ("mcp", "mcp"),
        ("batch rows.jsonl --out scored.jsonl", "resay_lab"),
        ("calibrate --labels rows.jsonl", "resay_lab"),
        ("journal list", "resay_server"),
        ("journal show 1", "resay_server"),
        ("journal recheck", "resay_server"),
        ("label", "resay_server"),
        ("serve --upstream http://127.0.0.1:9/v1 --port 0 --journal none", "resay_server"),
    ],
)
def test_every_command_with_a_policy_reads_that_of_the_environment(
    words: str, package: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if package:
        pytest.importorskip(package)
    monkeypatch.setenv("RESAY_POLICY", "missing.yaml")
    (files / "rows.jsonl").write_text('{"response": "It has 31 lamps.", "label": true}\n')
    done = resay_here(*words.split(), cwd=files)
    assert done.returncode == 2
    assert "missing.yaml" in done.stderr


@needs("litellm")
def test_check_says_why_no_model_can_be_asked(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    words = ("check", "-r", "response.txt", "--question", QUESTION, "--model", "openai/vary")
    done = resay_here(*words, "--json", cwd=files)
    assert done.returncode == 3
    assert (
        "; 'openai/vary' needs an API key; set OPENAI_API_KEY" in json.loads(done.stdout)["reason"]
    )
    # The samples are there, and the judge cannot be asked.
    done = resay_here(*words, "--samples", "a.txt", "b.txt", "c.txt", "--json", cwd=files)
    assert done.returncode == 3
    reason = json.loads(done.stdout)["reason"]
    assert "the judge 'openai/vary' needs an API key; set OPENAI_API_KEY" in reason
