/** The webview's wire to the extension and its memory while it is hidden. Never touches the document. */
interface VsCodeApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): VsCodeApi;

/** What goes over the wire of one view, and what outlives its being hidden. */
interface Wire {
  readonly received: unknown;
  readonly sent: unknown;
  readonly kept: object;
}

export class Editor<W extends Wire> {
  private readonly api = acquireVsCodeApi();

  listen(onMessage: (message: W['received']) => void): void {
    window.addEventListener('message', (event: MessageEvent<W['received']>) => onMessage(event.data));
  }

  send(message: W['sent']): void {
    this.api.postMessage(message);
  }

  get kept(): Partial<W['kept']> {
    return this.api.getState() ?? {};
  }

  keep(change: Partial<W['kept']>): void {
    this.api.setState({ ...this.kept, ...change });
  }
}
