#!/usr/bin/env node
// Runs the `keyfold` binary of the platform package that npm installed with this one.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const { platform, arch, report } = process;
const isMusl = platform === "linux" && !report.getReport().header.glibcVersionRuntime;
const name = `keyfold-cli-${platform}-${arch}${isMusl ? "-musl" : ""}`;

const binary = () => {
  try {
    return createRequire(import.meta.url).resolve(`${name}/keyfold${platform === "win32" ? ".exe" : ""}`);
  } catch {
    console.error(`keyfold: the package ${name} is not installed. There may be no binary for this platform, or npm ran with --omit=optional.`);
    console.error("`cargo install keyfold-cli` builds the command from source.");
    process.exit(1);
  }
};

const { status, signal, error } = spawnSync(binary(), process.argv.slice(2), { stdio: "inherit" });
if (error) throw error;
if (signal) process.kill(process.pid, signal);
process.exitCode = status ?? 1;
