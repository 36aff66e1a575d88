// Writes src/forms from docs/openapi.json: `node tools/forms.mjs`. A test fails while they differ.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../../", import.meta.url);
const FORMS = new URL("clients/typescript/src/forms/", ROOT);
const SUBJECTS = new URL("crates/neap-server/src/api/schemas/", ROOT);
const SIMPLE = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };
const PAGE = `
/** A part of a list; \`next\` is the cursor of the part after it, null at the end. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
  note?: string | null;
  clipped?: Clipped;
}
`;

export function readSchemas() {
  return JSON.parse(readFileSync(new URL("docs/openapi.json", ROOT), "utf8")).components.schemas;
}

/** The text of each file. */
export function written(schemas) {
  const subjects = subjectsOf();
  const files = {};
  for (const subject of new Set(Object.values(subjects))) {
    const names = Object.keys(schemas).filter((name) => subjects[name] === subject);
    const body = names.map((name) => definition(name, schemas[name])).join("\n") + (subject === "server" ? PAGE : "");
    files[`${subject}.ts`] =
      `/** Forms of ${subject}. Written by tools/forms.mjs. */\n\n${imports(body, subject, subjects)}${body}`;
  }
  const all = Object.keys(files)
    .sort()
    .map((file) => `export type * from "./${file.replace(".ts", ".js")}";\n`);
  files["index.ts"] =
    `/** The JSON of each thing, as docs/openapi.json has it. Written by tools/forms.mjs. */\n\n${all.join("")}`;
  return files;
}

function subjectsOf() {
  const found = {};
  for (const file of readdirSync(SUBJECTS).sort()) {
    if (!file.endsWith(".json")) continue;
    const names = Object.keys(JSON.parse(readFileSync(new URL(file, SUBJECTS), "utf8")));
    for (const name of names) found[name] = file.replace(".json", "");
  }
  return { ...found, Page: "server" };
}

function imports(body, subject, subjects) {
  const used = new Set(body.match(/\b[A-Z]\w*\b/g));
  const lines = [];
  for (const other of [...new Set(Object.values(subjects))].sort()) {
    const names = Object.keys(subjects)
      .filter((name) => subjects[name] === other && used.has(name))
      .sort();
    if (other !== subject && names.length > 0)
      lines.push(`import type { ${names.join(", ")} } from "./${other}.js";\n`);
  }
  return lines.length > 0 ? `${lines.join("")}\n` : "";
}

function definition(name, schema) {
  const about = schema.description ? `/** ${schema.description} */\n` : "";
  if (!isForm(schema)) return `${about}export type ${name} = ${type(schema, "")};\n`;
  return `${about}export interface ${name} ${type(schema, "")}\n`;
}

function isForm(schema) {
  return "properties" in schema && schema.additionalProperties === false;
}

function type(schema, indent) {
  if ("$ref" in schema) return schema.$ref.split("/").at(-1);
  if ("const" in schema) return JSON.stringify(schema.const);
  if ("enum" in schema) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return union(choices.map((one) => type(one, indent)));
  if (Array.isArray(schema.type)) return union(schema.type.map((one) => type({ ...schema, type: one }, indent)));
  if (schema.type === "array") return array(type(schema.items, indent));
  return schema.type === "object" ? object(schema, indent) : SIMPLE[schema.type];
}

function array(item) {
  return /^[\w]+$/.test(item) ? `${item}[]` : `Array<${item}>`;
}

function union(types) {
  return [...new Set(types)].join(" | ");
}

function object(schema, indent) {
  const extra = schema.additionalProperties ?? true;
  if (!isForm(schema)) return `Record<string, ${typeof extra === "object" ? type(extra, indent) : "unknown"}>`;
  const required = new Set(schema.required ?? []);
  const inner = `${indent}  `;
  const fields = Object.entries(schema.properties).map(
    ([key, value]) => `${inner}${key}${required.has(key) ? "" : "?"}: ${type(value, inner)};\n`,
  );
  return fields.length > 0 ? `{\n${fields.join("")}${indent}}` : "Record<string, never>";
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of Object.entries(written(readSchemas()))) writeFileSync(new URL(file, FORMS), text);
}
