"""Attention that shares keys against transformers' own, which copies them."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny import make_config, make_tokenizer  # noqa: E402
from transformers import AutoModelForCausalLM  # noqa: E402
from transformers.integrations.sdpa_attention import sdpa_attention_forward  # noqa: E402

from tomeval.models.local.attention import NAME, grouped  # noqa: E402
from tomeval.models.local.load import Loaded  # noqa: E402
from tomeval.models.local.transformers import TransformersModel  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


class Module:
    num_key_value_groups = 3
    is_causal = True


@pytest.mark.parametrize("tokens", [1, 5])
@pytest.mark.parametrize("masked", [True, False])
def test_it_is_that_of_transformers(tokens, masked) -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(4, n, t, 8) for n, t in ((6, tokens), (2, 9), (2, 9)))
    mask = torch.zeros(4, 1, tokens, 9).masked_fill(torch.rand(4, 1, tokens, 9) < 0.4, -1e30)
    mask[:, :, :, 0] = 0
    told = (Module(), query, key, value, mask if masked else None)
    found, _ = grouped(*told, scaling=0.3)
    own, _ = sdpa_attention_forward(*told, scaling=0.3)
    assert found.shape == own.shape == (4, tokens, 6, 8)
    torch.testing.assert_close(found, own, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("heads", "name"), [(2, NAME), (4, "sdpa")])
def test_models_whose_heads_share_keys_use_it(heads, name) -> None:
    config = make_config("llama", 300)
    config.num_key_value_heads = heads
    model = AutoModelForCausalLM.from_config(config).eval()
    TransformersModel("m", given=Loaded(model, make_tokenizer(), ""), chat=False)
    assert config.num_attention_heads == 4
    assert model.config._attn_implementation == name
