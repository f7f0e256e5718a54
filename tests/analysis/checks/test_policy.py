"""Rules by the same names everywhere, and none that is silently ignored."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentdbg.analysis import run_answer
from agentdbg.analysis.checks.policy import FINDINGS, RULES, make_policy, read_rules
from agentdbg.analysis.effects import EffectRules
from agentdbg.analysis.findings import __file__ as findings_package
from agentdbg.bounded.strict_loading import load_strictly
from agentdbg.commands.assert_run import command
from agentdbg.commands.init import POLICY
from agentdbg.commands.options import Option, parameters_of
from agentdbg.exceptions import UsageError
from agentdbg.policy_file import read_policy


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"max_token": 5}, "policy.yaml has no rule 'max_token'; did you mean max_tokens?"),
        ({"budget": 5}, "policy.yaml has no rule 'budget'; the rules are status, max_errors"),
        ({7: 5}, "policy.yaml has no rule 7"),
        ({"max_tokens": "many"}, "max_tokens in policy.yaml is 'many', which is not a number from 0 upwards"),
        ({"max_tokens": -1}, "which is not a number from 0 upwards; it may be a number or `baseline`, or off"),
        ({"max_errors": True}, "max_errors in policy.yaml is True, which is not a number"),
        ({"loops": "some"}, "loops in policy.yaml is 'some', which is neither none nor baseline"),
        ({"must_call": {"a": 1}}, "which is not a list of names"),
        ({"must_call": ["search", " "]}, "which has an empty name in it; it may be names of tools"),
        ({"must_call": ""}, "must_call in policy.yaml is '', which has an empty name in it"),
        ({"max_tokens": ""}, "max_tokens in policy.yaml is '', which is not a number"),
        ({"max_tokens": 10**400}, "which is not a number from 0 upwards"),
        ({"must_not_find": ["lop"]}, "in which 'lop' is no kind of finding (first_failure"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_by_name(given: dict[Any, Any], says: str) -> None:
    """A typing mistake that switches a check off is found in production."""
    with pytest.raises(UsageError, match=re.escape(says)):
        read_rules(given, "policy.yaml")


def test_later_layers_beat_earlier_ones_rule_by_rule() -> None:
    """The command line over the file, and the file over what a baseline asks by itself."""
    file = read_rules({"max_tokens": 10, "loops": "none", "must_call": "a, b"}, "the file")
    options = read_rules({"max_tokens": "20", "effects": "off"}, "the options")
    policy = make_policy(file, options, with_baseline=True)

    assert (policy.max_tokens, policy.loops, policy.must_call) == (20, "none", ("a", "b"))
    assert policy.effects is None
    assert policy.status == "baseline"
    assert policy.by_default == {"status", "findings", "max_cost_usd"}


def test_yaml_words_for_off_take_a_rule_away() -> None:
    """People write it bare, where YAML is used to read something else than a word."""
    for text in ("effects: off", "effects: 'off'"):
        assert make_policy(read_rules(load_strictly(text), "p"), with_baseline=True).effects is None


def test_no_is_not_off() -> None:
    """`loops: no` is meant to forbid loops; plain YAML makes it the same as `off`, which allows them all."""
    with pytest.raises(UsageError, match="loops in p is 'no', which is neither none nor baseline"):
        read_rules(load_strictly("loops: no"), "p")

    assert load_strictly("must_call: [yes, on, n]\nx: true") == {"must_call": ["yes", "on", "n"], "x": True}


@pytest.mark.parametrize("rule", ["loops", "effects", "max_tokens", "must_call"])
def test_false_is_not_off_either(rule: str) -> None:
    """`loops: false` may mean that loops are forbidden or that nobody looks; a gate does not guess which."""
    with pytest.raises(UsageError, match=f"{rule} in p is False, .* or off$"):
        read_rules(load_strictly(f"{rule}: false"), "p")


def test_numbers_are_counted_in_tens() -> None:
    """`max_tokens: 010` is eight in plain YAML and `1:30` ninety, which nobody means who writes a limit."""
    assert read_rules(load_strictly("max_tokens: 010"), "p") == {"max_tokens": 10}
    assert load_strictly("[7, -3, 1_000, 0.5, 1.5e3, .5]") == [7, -3, 1000, 0.5, 1500.0, 0.5]
    assert read_rules(load_strictly("max_tokens: 1e4"), "p") == {"max_tokens": 10_000}
    for text in ("1:30", "0x1f", "0b11", ".inf"):
        with pytest.raises(UsageError, match=f"max_duration_s in p is '{text}', which is not a number"):
            read_rules(load_strictly(f"max_duration_s: {text}"), "p")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_tokens: 10\nloops: none\nmax_tokens: 99999\n", "'max_tokens' stands twice in line 3"),
        ("status: ok\n---\nstatus: error\n", "found another document in line 2"),
        ("max_tokens: 2001-99-99\n", "month must be in 1..12"),
        ("must_call: [search\n", "while parsing a flow sequence"),
        ("[" * 1000, "nested too deeply"),
        ("? [a]\n: b\n", "found unhashable key in line 1"),
        ("status: \x00", "special characters are not allowed"),
        ("status: !!python/name:os.system x", "could not determine a constructor"),
    ],
)
def test_yaml_that_cannot_be_meant_is_refused_with_its_line(text: str, says: str) -> None:
    """Of two limits in one file the laxer one must not win without a word."""
    with pytest.raises(ValueError, match=re.escape(says)):
        load_strictly(text)


def test_anchors_and_merges_are_still_yaml() -> None:
    """A key that a merge brings may be given again: that is what merging is for."""
    text = "base: &base {loops: none, status: ok}\nmine:\n  <<: *base\n  status: error\n"

    assert load_strictly(text)["mine"] == {"loops": "none", "status": "error"}
    assert load_strictly("") is None


def test_a_refusal_is_short_whatever_was_written() -> None:
    """A value made of aliases of aliases is small in the file and endless when it is printed."""
    text = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    with pytest.raises(ValueError, match="it holds more than 10,000 values"):
        load_strictly(text)
    value = yaml.safe_load(text)["a11"]
    with pytest.raises(UsageError) as refused:
        read_rules({"must_call": value}, "p")

    assert len(str(refused.value)) < 200


def test_a_rule_of_a_file_without_a_value_is_refused(tmp_path: Path) -> None:
    """`max_tokens:` with nothing behind it is a check that somebody believes in and nobody makes."""
    path = tmp_path / "policy.yaml"
    path.write_text("status: ok\nmust_call:\n#  - search\n")

    with pytest.raises(UsageError, match=r"must_call in .*policy.yaml has no value; give it one, write `off`"):
        read_policy(path)


def test_an_argument_that_is_none_asks_nothing() -> None:
    """A marker that is computed has None where it asks for nothing."""
    assert read_rules({"must_call": None}, "the marker") == {}


@pytest.mark.parametrize("given", ["read, delete", ["read,delete"], ["read", "delete"], ["read , delete"]])
def test_a_comma_divides_names_wherever_it_stands(given: Any) -> None:
    """`--must-not-call read,delete` taken for one tool would let both through."""
    assert read_rules({"must_not_call": given}, "p") == {"must_not_call": ("read", "delete")}


def test_off_takes_away_a_rule_that_is_given_as_a_list() -> None:
    """An option that may be repeated comes as a list, and `--must-not-call off` forbids no tool called off."""
    file = read_rules({"must_not_call": ["delete"]}, "the file")
    policy = make_policy(file, read_rules({"must_not_call": ["off"]}, "the options"), with_baseline=False)

    assert policy.must_not_call is None


def test_the_tolerance_is_a_number_and_never_off() -> None:
    """Whoever writes `tolerance: off` wants none, and must not get the default."""
    with pytest.raises(UsageError, match=r"tolerance in p is 'off', which is not a number.*; it may be a number$"):
        read_rules({"tolerance": "off"}, "p")


@pytest.mark.parametrize(
    ("key", "instead"),
    [("max_steps", "a number"), ("loops", "`none`"), ("effects", "`none`"), ("tools", "names of tools, `*` allowed")],
)
def test_a_rule_about_a_baseline_needs_one(key: str, instead: str) -> None:
    """Otherwise the check would quietly not be made. What is said fits the rule: effects are no number."""
    says = f"{key}: baseline needs a baseline to compare with, and none was given; give one, or set {key} to {instead},"
    with pytest.raises(UsageError, match=re.escape(says)):
        make_policy(read_rules({key: "baseline"}, "p"), with_baseline=False)


def test_the_policy_names_side_effects_before_the_settings() -> None:
    """A project knows its tools better than a machine's settings do."""
    policy = make_policy(read_rules({"read_tools": ["update_view"]}, "p"), with_baseline=False)
    rules = policy.effect_rules(EffectRules(("update_*",), ()))

    assert rules.kind_of("update_view") == "read"
    assert rules.kind_of("update_order") == "write"


def test_every_rule_is_an_option_of_the_command() -> None:
    """One name for one thing: in the file, on the command line, in the marker."""
    declared = [parameter.declared for parameter in parameters_of(command)]
    options = {name for option in declared if isinstance(option, Option) for name in option.names}

    assert {f"--{rule.key.replace('_', '-')}" for rule in RULES} <= options


def test_the_policy_that_init_writes_explains_every_rule_and_can_be_used() -> None:
    """Each rule stands in it, as a comment or in force, and taking the `# ` away gives a policy that is right."""
    without_comments = re.sub(r"^# (?=[a-z_]+: )", "", POLICY, flags=re.MULTILINE)
    rules = read_rules(yaml.safe_load(without_comments), "init")

    assert set(rules) == {rule.key for rule in RULES}
    assert read_rules(yaml.safe_load(POLICY), "init") == {"status": "ok", "loops": "none"}


def test_the_kinds_of_findings_are_those_there_are() -> None:
    """A kind that a policy names and nothing finds would always pass."""
    folder = Path(findings_package).parent
    sources = "".join(path.read_text(encoding="utf-8") for path in (*folder.glob("*.py"), Path(run_answer.__file__)))

    assert set(re.findall(r"(?:Finding|LastWord)\(\s*\"(\w+)\"", sources)) == set(FINDINGS)
