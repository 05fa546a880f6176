// Types of examples/projects. A comment says which error a line must give.
import type { ProjectsItem, ProjectsKey, Tables } from "./keyfold_projects";

const key: ProjectsKey = { organisationId: "acme", projectId: "p1" };
export const tables: (keyof Tables)[] = ["organisations", "projects"];
export const right: Partial<ProjectsItem> = { ...key, owner: "jane" };
export const misspelt: Partial<ProjectsItem> = { ...key, ownr: "jane" }; // error TS2561
export const missing: ProjectsKey = { organisationId: "acme" }; // error TS2741
export const wrong: Partial<ProjectsItem> = { ...key, owner: 7 }; // error TS2322
