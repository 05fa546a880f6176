"""Types of examples/projects. A comment says which error a line must give."""

from keyfold_projects import ProjectsKey

key: ProjectsKey = {"organisationId": "acme", "projectId": "p1"}

misspelt: ProjectsKey = {"organisationId": "acme", "projectId": "p1", "project": "p1"}  # error typeddict-unknown-key
missing: ProjectsKey = {"organisationId": "acme"}  # error typeddict-item
wrong: ProjectsKey = {"organisationId": "acme", "projectId": 1}  # error typeddict-item
