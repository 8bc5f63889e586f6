"""A model with random weights, written for transformers and, with the same numbers, for llama.cpp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, processors

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}"
    "<assistant>"
)
_SPECIAL = ["<unk>", "<s>", "</s>"]
_BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
_LETTERS = [chr(code) for code in range(ord("!"), ord("~") + 1)]
# Words that only answers have: how they would be split in a prompt is each program's own affair.
_WORDS = ["▁A", "▁B", "▁C", "[[A", "A]]"]
_TEXTS = [*_SPECIAL, *_BYTES, "▁", *_LETTERS, "は", "。", *_WORDS]
_POSITIONS = 512
_LAYERS, _HEADS, _KEYS, _WIDTH, _INNER = 2, 4, 2, 64, 96
_NORM, _THETA = 1e-5, 10_000.0


def write_model(folder: Path) -> Path:
    """Write the model into a folder as transformers reads it. Returns the file for llama.cpp."""
    tokenizer = _tokenizer()
    tokenizer.save_pretrained(folder)
    model = _model()
    model.save_pretrained(folder)
    path = folder / "model.gguf"
    _write_gguf(path, model.state_dict())
    return path


def _tokenizer() -> Any:
    """Characters, bytes for all others, and a beginning of text, as in Llama 2."""
    vocabulary = {text: number for number, text in enumerate(_TEXTS)}
    made = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>", byte_fallback=True))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    made.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        chat_template=TEMPLATE,
    )


def _model() -> Any:
    torch.manual_seed(2)
    config = transformers.LlamaConfig(
        vocab_size=len(_TEXTS),
        hidden_size=_WIDTH,
        intermediate_size=_INNER,
        num_hidden_layers=_LAYERS,
        num_attention_heads=_HEADS,
        num_key_value_heads=_KEYS,
        max_position_embeddings=_POSITIONS,
        rms_norm_eps=_NORM,
        rope_theta=_THETA,
        tie_word_embeddings=False,
        # Larger than usual, so that the probabilities differ from token to token.
        initializer_range=0.2,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = transformers.LlamaForCausalLM(config)
    first, last = len(_SPECIAL), len(_SPECIAL) + len(_BYTES)
    with torch.no_grad():
        # Servers name bytes in ways of their own, so they are made unlikely.
        model.lm_head.weight[first:last] *= 0.1
    return model


def _write_gguf(path: Path, weights: dict[str, Any]) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(_POSITIONS)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_KEYS)
    writer.add_layer_norm_rms_eps(_NORM)
    writer.add_rope_freq_base(_THETA)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_vocab_size(len(_TEXTS))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add_tokenizer(writer)
    for name, tensor in weights.items():
        writer.add_tensor(_gguf_name(name), _gguf_weights(name, tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: Any) -> None:
    kinds = [
        gguf.TokenType.UNKNOWN,
        *[gguf.TokenType.CONTROL] * 2,
        *[gguf.TokenType.BYTE] * len(_BYTES),
    ]
    kinds += [gguf.TokenType.NORMAL] * (len(_TEXTS) - len(kinds))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(_TEXTS)
    writer.add_token_scores([0.0] * len(_TEXTS))
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)


_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def _gguf_name(name: str) -> str:
    inner = name.removeprefix("model.layers.")
    if inner == name:
        return f"{_NAMES[name.removesuffix('.weight')]}.weight"
    layer, _, part = inner.removesuffix(".weight").partition(".")
    return f"blk.{layer}.{_NAMES[part]}.weight"


def _gguf_weights(name: str, tensor: Any) -> Any:
    """Returns the numbers; llama.cpp rotates neighbouring pairs of a head, and transformers its halves."""
    weights = tensor.detach().float()
    heads = {"q_proj": _HEADS, "k_proj": _KEYS}.get(name.split(".")[-2])
    if heads is not None:
        rows, columns = weights.shape
        halves = weights.reshape(heads, 2, rows // heads // 2, columns)
        weights = halves.transpose(1, 2).reshape(rows, columns)
    return weights.contiguous().numpy()
