// Helpers for tests.

export interface Local {
  endpoint: string;
  /** For `new DynamoDBClient(clientOptions)`. */
  clientOptions: { endpoint: string; region: string; credentials: { accessKeyId: string; secretAccessKey: string } };
  stop(): Promise<void>;
}

export interface LocalOptions {
  /** The manifest whose tables are made; "keyfold.toml" without it. */
  manifest?: string;
  /** The command; KEYFOLD_COMMAND or "keyfold" without it. */
  command?: string;
}

/** Starts `keyfold local` with an empty database in memory. */
export function startLocal(options?: LocalOptions): Promise<Local>;

/** Starts it before the tests of a file, and stops it after them: `useLocal(beforeAll, afterAll)` of Jest, Vitest or node:test. */
export function useLocal(beforeAll: (run: () => Promise<void>) => unknown, afterAll: (run: () => unknown) => unknown, options?: LocalOptions): Local;
