"""gymnasium's own test of the environment."""

import importlib

import pytest

from tomeval.core.extras import installed
from tomeval.extensions.environments.environment import gym_env


@pytest.mark.skipif(
    not installed("gymnasium"), reason="needs gymnasium: pip install 'tomeval[environments]'"
)
def test_gymnasium_checks_the_environment() -> None:
    checker = importlib.import_module("gymnasium.utils.env_checker")
    env = gym_env("IPD", "tit_for_tat", horizon=3)
    checker.check_env(env, skip_render_check=True)
    observation, info = env.reset(seed=4)
    assert info["episode"] == 4
    assert "in round 1 of 3" in observation
    assert env.step("Final answer: Defect")[1:4] == (2.0, False, False)
