/** A suite has no access to the page it runs in: lines of its log ask run-tests.mjs to look at it. */

/** Some frame of the page has to show each of the texts; stays until that has been looked at. */
export async function look(...texts: string[]): Promise<void> {
  for (const text of texts) console.log(`[expect] ${text}`);
  await new Promise(done => setTimeout(done, 3000));
}

/** Presses keys such as `Tab Tab`; what has the focus then has to be called so. The next step waits for it, the caller does not. */
export function press(keys: string, focused?: string): void {
  console.log(`[press] ${keys}`);
  if (focused !== undefined) console.log(`[focused] ${focused}`);
}

export async function screenshot(name: string): Promise<void> {
  console.log(`[screenshot] ${name}`);
  // A busy machine takes it late.
  await new Promise(done => setTimeout(done, 3000));
}
