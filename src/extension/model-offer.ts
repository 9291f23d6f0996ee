/**
 * Whether there is a model, what it would cost to get one, and getting it after the user's consent: what the Ask view shows of
 * it. Never downloads by itself.
 */
import { CancellationTokenSource } from 'vscode-jsonrpc/node';
import { messageOf } from '../base/index.js';
import { method, type ModelReply, type ModelView } from '../protocol/index.js';
import { ProgressLine, megabytes, type Translate } from './progress-line.js';
import type { ServerClient } from './server-client.js';

export interface ModelPorts {
  readonly client: Pick<ServerClient, 'request'>;
  readonly log: (message: string) => void;
  readonly t: Translate;
}

export class ModelOffer {
  private current: ModelView = { kind: 'unknown' };
  private installing: CancellationTokenSource | undefined;

  constructor(
    private readonly ports: ModelPorts,
    private readonly changed: () => void,
  ) {}

  get view(): ModelView {
    return this.current;
  }

  /** Looks whether the model is there. */
  async look(): Promise<void> {
    if (this.installing) return;
    try {
      const model = await this.ports.client.request(method.model, {}, new CancellationTokenSource().token);
      this.set(model.installed ? { kind: 'ready' } : this.missing(model));
    } catch (error) {
      this.set({ kind: 'missing', name: 'Longview', facts: [], problem: messageOf(error) });
    }
  }

  /** After the user's consent. Resolves once the model is there, or is not; at once where it is being installed already. */
  async install(): Promise<void> {
    if (this.installing) return;
    const source = (this.installing = new CancellationTokenSource());
    const name = this.current.kind === 'missing' ? this.current.name : 'Longview';
    const line = new ProgressLine(this.ports.t);
    this.set({ kind: 'installing', name });
    let problem: string | undefined;
    try {
      await this.ports.client.request(method.installModel, {}, source.token, {
        onProgress: progress => this.set({ kind: 'installing', name, ...line.show(progress) }),
      });
    } catch (error) {
      if (!source.token.isCancellationRequested) problem = messageOf(error);
    }
    this.installing = undefined;
    await this.look();
    if (problem === undefined) return;
    this.ports.log(problem);
    if (this.current.kind === 'missing') this.set({ ...this.current, problem });
  }

  cancel(): void {
    this.installing?.cancel();
  }

  private missing({ name, source, license, downloadBytes, diskBytes, problem }: ModelReply): ModelView {
    const { t } = this.ports;
    const facts = [
      t('{0} to download from {1}', megabytes(downloadBytes), source),
      t('{0} on disk', megabytes(diskBytes)),
      t('License: {0}', license),
    ];
    return { kind: 'missing', name, facts, ...(problem !== undefined && { problem }) };
  }

  private set(model: ModelView): void {
    this.current = model;
    this.changed();
  }
}
