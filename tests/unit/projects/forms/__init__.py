"""Small projects in the forms that SAM CLI, CDK and the Serverless Framework produce; each is a dict of files."""

from __future__ import annotations

from tests.unit.projects.forms.cdk_out import CDK
from tests.unit.projects.forms.parts import Files
from tests.unit.projects.forms.sam import SAM
from tests.unit.projects.forms.sam_more import SAM_MORE
from tests.unit.projects.forms.serverless import SERVERLESS

FORMS: dict[str, Files] = {**SAM, **SAM_MORE, **CDK, **SERVERLESS}
