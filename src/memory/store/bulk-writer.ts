/** Writes many entries into an environment, some megabytes in each transaction. Never reads any. */
import type { ContentName, Databases } from './databases.js';

/** A transaction ends after so many bytes. */
const BYTES_AT_A_TIME = 4_000_000;

export class BulkWriter {
  private waiting: [ContentName, Buffer, Buffer][] = [];
  private bytes = 0;

  constructor(private readonly target: Databases) {}

  /** Key and value are copied: they may lie in memory that changes. `flush` comes after the last. */
  put(name: ContentName, key: Uint8Array, value: Uint8Array): void {
    this.waiting.push([name, Buffer.from(key), Buffer.from(value)]);
    this.bytes += key.byteLength + value.byteLength;
    if (this.bytes >= BYTES_AT_A_TIME) this.flush();
  }

  flush(): void {
    const { waiting } = this;
    this.waiting = [];
    this.bytes = 0;
    this.target.root.transactionSync(() => {
      for (const [name, key, value] of waiting) this.target[name].putSync(key, value);
    });
  }
}
