"""What the YAML files name.

The harness loads this file under a name of its own, hence all that is to exist once lies in the package.
"""

from pfgen_rs.integrations.lm_eval.jpeval import JpevalTask, jpeval_documents

__all__ = ["JpevalTask", "jpeval_documents"]
