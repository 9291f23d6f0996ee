/** Chat and agents in a real editor, signed out, with the real model, over the small workspace of ask.suite.ts. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as vscode from 'vscode';

/** Answered by lib/suggestSimilar.js of commander, whose function computes the edit distance of two words. */
const question = 'Which function computes the edit distance between two words for suggestions?';
const answeringFile = 'lib/suggestSimilar.js';

interface ChatResult {
  readonly errorDetails?: { readonly message: string };
  readonly metadata?: { readonly places: readonly string[] };
}

export function defineChatSuite(): void {
  suite('Longview in chat', () => {
    const never = new vscode.CancellationTokenSource().token;
    /** In Ask mode: in Agent mode the editor wants a model that calls tools before it passes on a message, to whomever. */
    const open = async (query: string): Promise<ChatResult> => {
      const options = { query, mode: 'ask', blockOnResponse: true };
      const result = await vscode.commands.executeCommand<ChatResult | undefined>(
        'workbench.action.chat.open',
        options,
      );
      assert.ok(result, 'the chat view answers');
      return result;
    };
    const send = async (query: string): Promise<ChatResult> => {
      const sent = await open(query);
      assert.equal(sent.errorDetails, undefined, sent.errorDetails?.message);
      return sent;
    };
    const invoke = async (name: string, input: object): Promise<string> => {
      const result = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined }, never);
      return result.content.map(part => (part instanceof vscode.LanguageModelTextPart ? part.value : '')).join('');
    };

    suiteSetup(async () => {
      // As with a user: the extension has started and the view is there before the first message.
      await vscode.extensions.getExtension('longview.longview')!.activate();
      assert.equal((await vscode.lm.selectChatModels({ vendor: 'longview' })).length, 1);
      await vscode.commands.executeCommand('workbench.action.chat.open', { mode: 'ask' });
      // The view takes its model a moment after it is open; a user's first message comes later than that.
      for (let tries = 0; tries < 40; tries++) {
        const { errorDetails } = await open('@longview /recall ');
        if (errorDetails?.message !== 'Language model unavailable') break;
        await new Promise(done => setTimeout(done, 250));
      }
    });

    test('@longview answers, with places that exist', async () => {
      const { metadata } = await send(`@longview ${question}`);
      assert.ok(metadata && metadata.places.length > 0, 'it names places');
      for (const place of metadata.places) assertPlace(place);
    });

    test('@longview /recall shows the place that answers', async () => {
      const { metadata } = await send(`@longview /recall ${question}`);
      assert.ok(
        metadata?.places.slice(0, 3).some(place => place.startsWith(`${answeringFile}:`)),
        String(metadata?.places),
      );
    });

    test('@longview without words says what to do', async () => {
      const { errorDetails } = await open('@longview /recall ');
      assert.match(errorDetails?.message ?? '', /Write what you want to know/);
    });

    test('tools for agents: listed with their schemas', () => {
      for (const name of ['longview_recall', 'longview_ask', 'longview_summarize']) {
        const tool = vscode.lm.tools.find(it => it.name === name);
        assert.ok(tool, name);
        assert.ok(tool.description.length > 100);
        assert.equal((tool.inputSchema as { type: string }).type, 'object');
      }
    });

    test('longview_recall gives exact text of places', async () => {
      const text = await invoke('longview_recall', { question, limit: 3 });
      const place = /^(lib\/[\w.]+:\d+-\d+)\n```\n([\s\S]*?)\n```$/m.exec(text);
      assert.ok(place, text);
      assertPlace(place[1]!);
      assert.ok(textOf(place[1]!.split(':')[0]!).includes(place[2]!), 'the text stands in the file');
      assert.match(text, /\n\n4 of 4 files read$/);
    });

    test('longview_ask answers and names its coverage', async () => {
      const text = await invoke('longview_ask', { question });
      assert.match(text, /4 of 4 files read/);
      assert.match(text, /lib\/\w+\.js:\d+/);
    });

    test('longview_summarize asks git before it reads anything', async () => {
      await assert.rejects(
        invoke('longview_summarize', { since: 'no-such-commit', readSeconds: 3000 }),
        /no commit|git/,
      );
    });

    test('a folder that is not of the workspace is refused', async () => {
      await assert.rejects(invoke('longview_recall', { question, folder: '/etc' }), /no folder \/etc/);
      await assert.rejects(invoke('longview_summarize', { path: '../../etc' }), /not a file or folder/);
    });

    test('the model itself: found by vendor, counts tokens, streams, stops', async () => {
      const [model] = await vscode.lm.selectChatModels({ vendor: 'longview' });
      assert.ok(model, 'a model of this vendor');
      assert.ok(model.maxInputTokens > 0);
      assert.ok(
        (await model.countTokens('The quick brown fox jumps over the lazy dog.')) >= 9,
        'a token a word or more',
      );
      const messages = [vscode.LanguageModelChatMessage.User('Count from one to fifty in words.')];
      const whole: string[] = [];
      const response = await model.sendRequest(messages, { modelOptions: { maxTokens: 24 } }, never);
      for await (const piece of response.text) whole.push(piece);
      assert.ok(whole.length > 1, 'it comes in pieces');
      assert.notEqual(whole.join('').trim(), '');

      const stopping = new vscode.CancellationTokenSource();
      let pieces = 0;
      const stopped = await model.sendRequest(messages, { modelOptions: { maxTokens: 1000 } }, stopping.token);
      try {
        for await (const piece of stopped.text) {
          assert.equal(typeof piece, 'string');
          if (++pieces === 2) stopping.cancel();
        }
      } catch (error) {
        assert.ok(error instanceof vscode.CancellationError || /cancel/i.test(String(error)), String(error));
      }
      assert.ok(pieces >= 2 && pieces < 500, `${pieces} pieces after Stop`);
      // The engine is free again.
      const next = await model.sendRequest(messages, { modelOptions: { maxTokens: 2 } }, never);
      let text = '';
      for await (const piece of next.text) text += piece;
      assert.notEqual(text, '');
    });

    test('the MCP server is offered, starts from the bundle and answers', async () => {
      await vscode.commands.executeCommand('workbench.mcp.startServer', '*', { waitForLiveTools: true });
      const isOurs = (tool: vscode.LanguageModelToolInformation): boolean => /^mcp_.*longview_recall$/.test(tool.name);
      for (let waited = 0; waited < 30_000 && !vscode.lm.tools.some(isOurs); waited += 100) {
        await new Promise(done => setTimeout(done, 100));
      }
      const tool = vscode.lm.tools.find(isOurs);
      assert.ok(tool, vscode.lm.tools.map(it => it.name).join(' '));
      assert.ok((await invoke(tool.name, { question, limit: 3 })).includes(answeringFile));
    });
  });
}

/** `path:line` or `path:line-line` of a file of the workspace that has those lines. */
function assertPlace(place: string): void {
  const [, path, start, end] = /^(.+):(\d+)(?:-(\d+))?$/.exec(place) ?? [];
  assert.ok(path !== undefined, place);
  const lines = textOf(path).split('\n').length;
  assert.ok(Number(start) >= 1 && Number(end ?? start) <= lines, `${place} of ${lines} lines`);
}

function textOf(path: string): string {
  const folder = vscode.workspace.workspaceFolders![0]!.uri;
  return readFileSync(vscode.Uri.joinPath(folder, path).fsPath, 'utf8');
}
