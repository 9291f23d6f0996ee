/** What a server is started with. Types only: nothing here runs. Fields may be added, never renamed. */

/** `initializationOptions` of `initialize`. */
export interface ServerOptions {
  /** Data folder; the user's own when missing. */
  readonly data?: string;
  /** Name of an installed model; the default one when missing. */
  readonly model?: string;
  readonly threads?: number;
  /** Budgets in MB of recall's memory and a folder's disk; shares of the machine when missing. */
  readonly ram?: number;
  /** Tokens that the workspace state is made of. */
  readonly state?: number;
  readonly disk?: number;
  /** Execution provider; chosen by probing when missing or `auto`. */
  readonly provider?: string;
}
