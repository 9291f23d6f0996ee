/** Walking through the questions asked before, as in a shell: what was being written comes back at the end. */
export class QuestionRecall {
  /** Latest first. */
  questions: readonly string[] = [];
  private at = -1;
  private draft = '';

  /** `current`: what stands in the box. */
  older(current: string): string | undefined {
    if (this.at + 1 >= this.questions.length) return undefined;
    if (this.at < 0) this.draft = current;
    return this.questions[++this.at];
  }

  newer(): string | undefined {
    if (this.at < 0) return undefined;
    this.at--;
    return this.at < 0 ? this.draft : this.questions[this.at];
  }

  leave(): void {
    this.at = -1;
  }
}
