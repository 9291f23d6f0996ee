/** Things that hold a resource and give it back once. */

export interface Disposable {
  dispose(): void | Promise<void>;
}

/** Disposes what was added, last first. Never throws for one failing part before the others were disposed. */
export class DisposableStack implements Disposable {
  private readonly parts: Disposable[] = [];
  private disposed = false;

  add<T extends Disposable>(part: T): T {
    this.parts.push(part);
    return part;
  }

  async dispose(): Promise<void> {
    if (this.disposed) return;
    this.disposed = true;
    const failures: unknown[] = [];
    for (const part of this.parts.reverse()) {
      try {
        await part.dispose();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
