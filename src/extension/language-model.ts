/**
 * The model itself, for the editor's model picker and other extensions. Registered only where Stop reaches it (VS Code 1.127):
 * a model that cannot be stopped would keep the machine busy. Listing it starts no process; answering does.
 */
import * as vscode from 'vscode';
import { method, type ModelReply } from '../protocol/index.js';
import { chatMessages, stopReachesProviders, type EditorMessage } from './chat-messages.js';
import { modelVendor } from './ids.js';
import type { Services } from './services.js';
import { requireTrust } from './trust.js';

/** Up to here the model attends to every token of a conversation; of a longer one it merges the oldest, and details fade. */
const maxInputTokens = 2048;
const maxOutputTokens = 1024;
const defaultOutputTokens = 512;
/** The one that the settings choose; its name may change, this does not. */
const modelId = 'local';
/** In the editor's storage: what the server said of the model last. */
const rememberedKey = 'longview.languageModel';

export function activateLanguageModel(services: Services): vscode.Disposable {
  if (!stopReachesProviders(vscode.version)) return new vscode.Disposable(() => undefined);
  const provider = new ModelProvider(services);
  const registered = vscode.lm.registerLanguageModelChatProvider(modelVendor, provider);
  // Signed out, the chat view lets no participant answer before some language model is known.
  void vscode.lm.selectChatModels({ vendor: modelVendor });
  return vscode.Disposable.from(registered, provider);
}

class ModelProvider implements vscode.LanguageModelChatProvider {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeLanguageModelChatInformation = this.changed.event;

  constructor(private readonly services: Services) {}

  async provideLanguageModelChatInformation(
    { silent }: vscode.PrepareLanguageModelChatModelOptions,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelChatInformation[]> {
    const { client, context } = this.services;
    // Silently asked, e.g. when the chat view opens, it says what is known instead of starting the server.
    const known =
      silent && !client.isRunning ? context.globalState.get<ModelReply>(rememberedKey) : await this.ask(token);
    return [informationOf(known)];
  }

  async provideLanguageModelChatResponse(
    _model: vscode.LanguageModelChatInformation,
    messages: readonly vscode.LanguageModelChatRequestMessage[],
    { modelOptions }: vscode.ProvideLanguageModelChatResponseOptions,
    progress: vscode.Progress<vscode.LanguageModelResponsePart>,
    token: vscode.CancellationToken,
  ): Promise<void> {
    requireTrust();
    const { installed, name } = await this.ask(token);
    if (!installed) {
      throw vscode.LanguageModelError.NotFound(
        vscode.l10n.t('Model {0} is not installed. "Longview: Choose Model…" installs it.', name),
      );
    }
    const wanted: unknown = modelOptions?.['maxTokens'] ?? modelOptions?.['max_tokens'];
    const temperature: unknown = modelOptions?.['temperature'];
    await this.services.client.request(
      method.generate,
      {
        messages: chatMessages(messages),
        maxTokens: typeof wanted === 'number' && wanted >= 1 ? Math.min(wanted, maxOutputTokens) : defaultOutputTokens,
        ...(typeof temperature === 'number' ? { temperature } : {}),
      },
      token,
      { onText: text => progress.report(new vscode.LanguageModelTextPart(text)) },
    );
  }

  async provideTokenCount(
    _model: vscode.LanguageModelChatInformation,
    text: string | vscode.LanguageModelChatRequestMessage,
    token: vscode.CancellationToken,
  ): Promise<number> {
    const words = typeof text === 'string' ? text : wordsOf(text);
    return (await this.services.client.request(method.countTokens, { text: words }, token)).tokens;
  }

  dispose(): void {
    this.changed.dispose();
  }

  /** Asks the server, and remembers; the editor hears of a change. */
  private async ask(token: vscode.CancellationToken): Promise<ModelReply> {
    const { client, context } = this.services;
    const model = await client.request(method.model, {}, token);
    const before = context.globalState.get<ModelReply>(rememberedKey);
    if (before?.name !== model.name || before.installed !== model.installed) {
      await context.globalState.update(rememberedKey, model);
      this.changed.fire();
    }
    return model;
  }
}

function informationOf(model: ModelReply | undefined): vscode.LanguageModelChatInformation {
  return {
    id: modelId,
    name: model === undefined ? 'Longview' : `Longview: ${model.name}`,
    family: model?.name ?? 'longview',
    version: '1',
    detail: model?.installed === false ? vscode.l10n.t('not installed yet') : vscode.l10n.t('on this machine'),
    tooltip: vscode.l10n.t('A small language model on this machine: no account, no network, no tools.'),
    maxInputTokens,
    maxOutputTokens,
    capabilities: {},
  };
}

function wordsOf(message: EditorMessage): string {
  return chatMessages([message])
    .map(({ content }) => content)
    .join('\n');
}
