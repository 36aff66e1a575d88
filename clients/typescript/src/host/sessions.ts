/** What is known of sessions, by their names; of many, those that were used last. */

const SESSIONS_MAX = 1000;

export class Sessions<State> {
  readonly #known = new Map<string, State>();

  constructor(private readonly make: (name: string) => State) {}

  of(name: string): State {
    const state = this.#known.get(name) ?? this.make(name);
    // A map keeps its order: this is now the last to go.
    this.#known.delete(name);
    this.#known.set(name, state);
    const [oldest] = this.#known.keys();
    if (this.#known.size > SESSIONS_MAX && oldest !== undefined) this.#known.delete(oldest);
    return state;
  }
}
