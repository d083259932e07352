"""Writes bpe.json: texts and the token ids that tiktoken gives them.

    pip install tiktoken bpe-openai
    python3 gen_bpe.py > bpe.json

tiktoken fetches its vocabularies from the network; bpe-openai brings the same
in its package, so they are taken from there. The texts are the same on every run.
"""

import json
import random

import bpe_openai
import tiktoken
import tiktoken_ext.openai_public as public


def encoding(name):
    vocabulary = dict(bpe_openai.get_encoding(name)._mergeable_ranks)
    public.load_tiktoken_bpe = lambda *args, **kwargs: vocabulary
    return tiktoken.Encoding(**getattr(public, name)())


CL100K, O200K = encoding("cl100k_base"), encoding("o200k_base")

CHARACTERS = list(
    "aBzS'sſtTlLrRvVeEdDmM 1½٣²\t\n\r  \u3000!/.-_漢字あ・゙éÉñÑǅʰªΩпривет\u0301\u0300한글𝒳🎉👩‍💻ßİKم\u200d\ufffd\x00\x1c\u0085"
)
SNIPPETS = [
    "hello", " world", "It's", "I'LL", " they've", " don't", "CamelCase", "snake_case", " 12345", "\n\n", "  \n  ",
    "http://a.b/c?d=e", "<|endoftext|>", "<|im_start|>", " naïve", "Ünïcödé", " 東京", "こんにちは", "привет мир",
    "مرحبا", "a\u0301b", 'func main() {\n\tfmt.Println("x")\n}\n', "    return x", "\t\t", "....", "!!!\n\n",
    "//\n/", "---", "🎉", "👨‍👩‍👧‍👦", "a" * 20, " " * 8,
]
FIXED = [
    "", "hello world", "Hello, world!", "tiktoken is great!", *SNIPPETS,
    "a" * 300, " " * 300, "\n" * 50, " \n" * 60, "ab" * 200, "漢" * 60, "x" * 127, "xy" * 64, "xy" * 65, "xyz" * 100,
]


def texts(random):
    yield from FIXED
    while True:
        kind = random.random()
        if kind < 0.45:
            yield "".join(random.choice(CHARACTERS) for _ in range(random.randint(1, 14)))
        elif kind < 0.8:
            yield "".join(
                random.choice(SNIPPETS if random.random() < 0.7 else CHARACTERS) for _ in range(random.randint(1, 8))
            )
        elif kind < 0.9:
            ranges = [(0, 0x2FFF), (0, 0xD7FF), (0xE000, 0x1FFFF)]
            yield "".join(chr(random.randint(*random.choice(ranges))) for _ in range(random.randint(1, 8)))
        else:
            yield "".join(random.choice("etaoinshrdlu") for _ in range(random.randint(1, 260)))


lines = []
for _, text in zip(range(400), texts(random.Random(3))):
    golden = {"text": text, "cl100k": CL100K.encode_ordinary(text), "o200k": O200K.encode_ordinary(text)}
    lines.append(json.dumps(golden, separators=(",", ":")))
print("[\n" + ",\n".join(lines) + "\n]")
