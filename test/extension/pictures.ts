/**
 * Pictures of the whole editor for a person to look at, with the real model: `node scripts/test-vscode.mjs pictures` with
 * LONGVIEW_SCREENSHOT=FOLDER/last.png. Three themes, two widths of the side bar. The texts it waits for are all it checks.
 */
import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { look, screenshot } from './page-looks.js';
import { runSuites } from './run-suites.js';

const themes = { dark: 'Default Dark Modern', light: 'Default Light Modern', contrast: 'Default High Contrast' };
const question = 'Which class describes an error of the command line?';

export function run(): Promise<void> {
  return runSuites(() => {
    suite('pictures of the editor', () => {
      suiteSetup(async () => {
        await act('workbench.action.closeAuxiliaryBar');
        await act('longview.ask', { question, consent: true });
      });
      for (const [name, theme] of Object.entries(themes)) {
        test(name, async () => {
          await vscode.workspace.getConfiguration('workbench').update('colorTheme', theme, true);
          await answer(name);
          await summary(name);
          await memory(name);
          await hover(name);
          await walkthrough(name);
        });
      }
    });
  });
}

async function answer(theme: string): Promise<void> {
  const editor = await openFile('lib/error.js');
  editor.selection = new vscode.Selection(0, 3, 12, 0);
  await act('longview.askAboutSelection', { question: 'What does this class do?', consent: true });
  await look('About lib/error.js:1-12', 'Open as Document');
  await resize('decrease', 4);
  await screenshot(`ask-${theme}-wide.png`);
  await resize('increase', 6);
  await screenshot(`ask-${theme}-narrow.png`);
  await resize('decrease', 2);
}

async function summary(theme: string): Promise<void> {
  const file = (await openFile('lib/suggestSimilar.js')).document.uri;
  await act('longview.summarizeFile', file);
  await look('Summary of lib/suggestSimilar.js', 'The sentences are about');
  await screenshot(`summary-${theme}.png`);
  await resize('decrease', 2);
  await screenshot(`summary-${theme}-wide.png`);
  await resize('increase', 2);
}

async function memory(theme: string): Promise<void> {
  await act('longview.showMemory');
  await look('Tokens read');
  await act('list.focusFirst');
  await screenshot(`memory-${theme}.png`);
}

async function hover(theme: string): Promise<void> {
  const editor = await openFile('lib/option.js');
  const at = editor.document.getText().lastIndexOf('InvalidArgumentError(');
  assert.ok(at > 0);
  const position = editor.document.positionAt(at + 2);
  editor.selection = new vscode.Selection(position, position);
  editor.revealRange(new vscode.Range(position, position), vscode.TextEditorRevealType.InCenter);
  await act('editor.action.showHover');
  await look('InvalidArgumentError');
  await screenshot(`hover-${theme}.png`);
}

async function walkthrough(theme: string): Promise<void> {
  await act('workbench.action.closeAllEditors');
  // Its pictures stand beside the steps where there is room.
  await act('workbench.action.toggleSidebarVisibility');
  await act('workbench.action.openWalkthrough', 'longview.longview#start', false);
  await look('Get Started with Longview');
  await screenshot(`walkthrough-${theme}.png`);
  await act('workbench.action.toggleSidebarVisibility');
  await act('workbench.action.closeAllEditors');
}

/** The editors', which the side bar has what is left of: `decrease` widens the side bar. */
async function resize(direction: 'increase' | 'decrease', steps: number): Promise<void> {
  await act('longview.memoryView.focus');
  for (let step = 0; step < steps; step++) await act(`workbench.action.${direction}ViewWidth`);
}

async function openFile(path: string): Promise<vscode.TextEditor> {
  const folder = vscode.workspace.workspaceFolders![0]!.uri;
  return vscode.window.showTextDocument(vscode.Uri.joinPath(folder, path), { preview: false });
}

function act(id: string, ...given: unknown[]): Thenable<unknown> {
  return vscode.commands.executeCommand(id, ...given);
}
