/** A client's methods, made of the calls: each has one signature and one doc, in `calls/`. */

import { Call, Download } from "./call.js";
import * as efforts from "./calls/efforts.js";
import * as memories from "./calls/memories.js";
import * as memoryChanges from "./calls/memory-changes.js";
import * as server from "./calls/server.js";
import * as sessions from "./calls/sessions.js";
import * as turns from "./calls/turns.js";

const { of: _ofSession, ...sessionCalls } = sessions;
const { of: _ofMemory, ...memoryCalls } = memories;

/** By the name of its route's operation, in camel case. */
export const CALLS = { ...server, ...sessionCalls, ...efforts, ...turns, ...memoryCalls, ...memoryChanges };

type Calls = typeof CALLS;
type Method<Build> = Build extends (...args: infer Args) => Download<infer Form>
  ? (...args: Args) => AsyncGenerator<Form, void, void>
  : Build extends (...args: infer Args) => Call<infer Form>
    ? (...args: Args) => Promise<Form>
    : never;

/** A method for each route. */
export type Routes = { readonly [Name in keyof Calls]: Method<Calls[Name]> };

export interface Sender {
  send<Form>(call: Call<Form>): Promise<Form>;
  read<Form>(download: Download<Form>): AsyncGenerator<Form, void, void>;
}

export function routesOf(sender: Sender): Routes {
  const methods = Object.entries(CALLS).map(([name, build]) => {
    const method = (...args: unknown[]): unknown => {
      const call: unknown = Reflect.apply(build, undefined, args);
      if (call instanceof Download) return sender.read(call);
      return call instanceof Call ? sender.send(call) : undefined;
    };
    return [name, method];
  });
  return Object.fromEntries(methods) as Routes;
}
