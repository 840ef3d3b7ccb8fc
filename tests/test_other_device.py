"""Networks train and predict where they lie: tests of some solvers, on a pretended GPU.

In a process of its own, as PyTorch has such a device for good once it has it.
"""
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("datasets")
pytest.importorskip("torchvision")
pytest.importorskip("transformers")
registration = pytest.importorskip("torch.utils.backend_registration")
if not hasattr(registration, "_setup_privateuseone_for_python_backend"):
    pytest.skip("this PyTorch has no devices made in Python", allow_module_level=True)

TESTS = Path(__file__).parent
SCRATCH = "test_scratch_solver.py::TestRows::test_every_architecture"
FROZEN = ("test_image_solvers.py::TestFrozen::"
          "test_predicts_as_each_image_through_backbone_and_head")
FINE_TUNED = "test_image_solvers.py::TestFineTuned::test_is_the_plain_loop"
TEXT = "test_text_solver.py::TestWholePath::"

MIXED = """
import other_device, pytest, torch

def test_tensors_here_and_there():
    there = torch.zeros(2, 3, device=other_device.DEVICE)
    assert (there + torch.tensor(1.0)).cpu().numpy().sum() == 6
    assert torch.equal(there.to("cpu") + torch.ones(3), torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="on the CPU"):
        there + torch.ones(3)
    with pytest.raises(RuntimeError, match="numpy"):
        there.numpy()
"""


def run_there(*tests):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "other_device", *(TESTS / test for test in tests)],
        cwd=TESTS.parent, env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_few_and_that_devices_do_not_mix(tmp_path):
    mixed = tmp_path / "test_mixed.py"
    mixed.write_text(MIXED)
    run_there(f"{SCRATCH}[shake_shake]", f"{FROZEN}[vit]", FINE_TUNED, TEXT + "test_pairs", mixed)


@pytest.mark.slow
@pytest.mark.parametrize("tests", [SCRATCH, FROZEN, TEXT + "test_each_kind_of_model"])
def test_all(tests):
    run_there(tests)
