import type luaparse from 'luaparse';
import type { Expression, FunctionDeclaration, Identifier, Statement } from './parse.ts';
import { checkList, checkNumeral, endLine, rangeOf, startLine } from './parse.ts';
import { LuaSyntaxError } from './syntax-error.ts';

/** A local variable. One that an inner function captures lives in a Box. */
export interface Variable {
  readonly name: string;
  readonly owner: FunctionScope;
  readonly slot: number;
  isCaptured: boolean;
}

/** The facts about a function that the compiler needs before it compiles the body. */
export interface FunctionScope {
  readonly parent: FunctionScope | undefined;
  readonly line: number;
  readonly isVararg: boolean;
  readonly parameters: Variable[];
  /** Captured variables of outer functions, in the order of their slots. */
  readonly upvalues: Map<Variable, number>;
  /** Slots taken by parameters and locals; upvalues follow. */
  slotCount: number;
  /** How deep statements and expressions nest, which bounds the JavaScript stack. */
  nesting: number;
  usesVararg: boolean;
  /** Lua 5.0's `arg`, if the body names it. It stays nil if the body uses `...` as well. */
  argument: Variable | undefined;
}

export interface Resolution {
  readonly ast: luaparse.Chunk;
  readonly source: string;
  readonly chunk: string;
  readonly main: FunctionScope;
  /** True if the chunk can access the globals as a table, and so KEYS and ARGV in it. */
  readonly seesGlobals: boolean;
  /** How many statements and expressions the chunk has. */
  readonly nodeCount: number;
  readonly functions: ReadonlyMap<FunctionDeclaration, FunctionScope>;
  /** The variable of every identifier that names one; identifiers of globals are absent. */
  readonly variables: ReadonlyMap<Identifier, Variable>;
}

/** The globals through which a script can reach the table of globals. */
const LEADS_TO_GLOBALS: ReadonlySet<string> = new Set(['_G', 'load', 'loadstring']);

const MAX_LOCALS = 200;
const MAX_UPVALUES = 60;

/** C Lua's limit on nested blocks and expressions. */
const MAX_SYNTAX_DEPTH = 200;

/** A limit for syntax that C Lua parses in a loop but that is nested in the tree, such as a long sum. */
const MAX_TREE_DEPTH = 500;

/** Resolves each name to its variable, and finds the variables that need a box. */
export function resolve(ast: luaparse.Chunk, source: string, chunk: string): Resolution {
  const resolver = new Resolver(source, chunk);
  const main = resolver.resolveMain(ast);
  const { functions, variables, seesGlobals, nodeCount } = resolver;
  return { ast, source, chunk, main, functions, variables, seesGlobals, nodeCount };
}

type Block = Map<string, Variable>;

class Resolver {
  readonly functions = new Map<FunctionDeclaration, FunctionScope>();
  readonly variables = new Map<Identifier, Variable>();
  seesGlobals = false;
  nodeCount = 0;
  private readonly source: string;
  private readonly chunk: string;
  private scope!: FunctionScope;
  /** The blocks of all open functions, innermost last. */
  private blocks: Block[] = [];
  private nextSlot = 0;
  private syntaxDepth = 0;
  private treeDepth = 0;

  constructor(source: string, chunk: string) {
    this.source = source;
    this.chunk = chunk;
  }

  resolveMain(ast: luaparse.Chunk): FunctionScope {
    return this.inFunction(0, true, () => this.block(ast.body));
  }

  private fail(line: number, message: string): never {
    throw new LuaSyntaxError(`${this.chunk}:${line}: ${message}`);
  }

  private inFunction(line: number, isVararg: boolean, visit: () => void): FunctionScope {
    const { scope: parent, nextSlot, treeDepth } = this;
    const scope: FunctionScope = {
      parent,
      line,
      isVararg,
      parameters: [],
      upvalues: new Map(),
      slotCount: 0,
      nesting: 0,
      usesVararg: false,
      argument: undefined,
    };
    this.scope = scope;
    this.nextSlot = 0;
    this.treeDepth = 0;
    this.inBlock(visit);
    this.scope = parent as FunctionScope;
    this.nextSlot = nextSlot;
    this.treeDepth = treeDepth;
    return scope;
  }

  private inBlock(visit: () => void): void {
    const slot = this.nextSlot;
    this.blocks.push(new Map());
    visit();
    this.blocks.pop();
    this.nextSlot = slot;
  }

  private declare(name: string, line: number): Variable {
    const { scope } = this;
    const variable = { name, owner: scope, slot: this.nextSlot, isCaptured: false };
    this.nextSlot += 1;
    if (this.nextSlot > MAX_LOCALS) {
      this.fail(line, `${describe(scope)} has more than ${MAX_LOCALS} local variables`);
    }
    scope.slotCount = Math.max(scope.slotCount, this.nextSlot);
    this.blocks.at(-1)!.set(name, variable);
    return variable;
  }

  private declareNode(node: Identifier): Variable {
    const variable = this.declare(node.name, startLine(node));
    this.variables.set(node, variable);
    return variable;
  }

  private use(node: Identifier): void {
    for (let at = this.blocks.length - 1; at >= 0; at--) {
      const variable = this.blocks[at]!.get(node.name);
      if (variable === undefined) continue;
      this.variables.set(node, variable);
      if (isArgument(variable)) variable.owner.argument = variable;
      if (variable.owner !== this.scope) this.capture(variable, startLine(node));
      return;
    }
    if (LEADS_TO_GLOBALS.has(node.name)) this.seesGlobals = true;
  }

  private capture(variable: Variable, line: number): void {
    variable.isCaptured = true;
    let scope: FunctionScope | undefined = this.scope;
    for (; scope !== undefined && scope !== variable.owner; scope = scope.parent) {
      if (scope.upvalues.has(variable)) continue;
      scope.upvalues.set(variable, scope.upvalues.size);
      if (scope.upvalues.size > MAX_UPVALUES) {
        this.fail(line, `${describe(scope)} has more than ${MAX_UPVALUES} upvalues`);
      }
    }
  }

  /** Visits a nested node. `isSyntax`: C Lua's parser would recurse for it. */
  private nested(line: number, isSyntax: boolean, visit: () => void): void {
    this.nodeCount += 1;
    this.treeDepth += 1;
    if (isSyntax) this.syntaxDepth += 1;
    if (this.syntaxDepth > MAX_SYNTAX_DEPTH || this.treeDepth > MAX_TREE_DEPTH) {
      this.fail(line, 'chunk has too many syntax levels');
    }
    this.scope.nesting = Math.max(this.scope.nesting, this.treeDepth);
    visit();
    this.treeDepth -= 1;
    if (isSyntax) this.syntaxDepth -= 1;
  }

  private block(body: readonly Statement[]): void {
    for (const statement of body) {
      this.nested(startLine(statement), false, () => this.statement(statement));
    }
  }

  private nestedBlock(body: readonly Statement[], line: number): void {
    this.nested(line, true, () => this.inBlock(() => this.block(body)));
  }

  private statement(node: Statement): void {
    const line = startLine(node);
    switch (node.type) {
      case 'LocalStatement':
        this.expressions(node.init);
        for (const variable of node.variables) this.declareNode(variable);
        break;
      case 'AssignmentStatement':
        this.expressions(node.variables);
        this.expressions(node.init);
        break;
      case 'CallStatement':
        this.expression(node.expression);
        break;
      case 'ReturnStatement':
        checkList(this.source, rangeOf(node)[0] + 'return'.length, false, this.chunk);
        this.expressions(node.arguments);
        break;
      case 'DoStatement':
        this.nestedBlock(node.body, line);
        break;
      case 'IfStatement':
        for (const clause of node.clauses) {
          if (clause.type !== 'ElseClause') this.expression(clause.condition);
          this.nestedBlock(clause.body, line);
        }
        break;
      case 'WhileStatement':
        this.expression(node.condition);
        this.nestedBlock(node.body, line);
        break;
      case 'RepeatStatement':
        this.nested(line, true, () =>
          this.inBlock(() => {
            this.block(node.body);
            this.expression(node.condition);
          }),
        );
        break;
      case 'ForNumericStatement':
        this.expressions([node.start, node.end, ...(node.step === null ? [] : [node.step])]);
        this.loop([node.variable], node.body, line);
        break;
      case 'ForGenericStatement':
        this.expressions(node.iterators);
        this.loop(node.variables, node.body, line);
        break;
      case 'FunctionDeclaration':
        this.functionStatement(node);
        break;
      case 'BreakStatement':
        break;
      default:
        this.fail(line, 'unexpected symbol');
    }
  }

  private loop(variables: readonly Identifier[], body: readonly Statement[], line: number): void {
    this.nested(line, true, () =>
      this.inBlock(() => {
        for (const variable of variables) this.declareNode(variable);
        this.inBlock(() => this.block(body));
      }),
    );
  }

  private functionStatement(node: FunctionDeclaration): void {
    const { identifier } = node;
    if (node.isLocal) this.declareNode(identifier as Identifier);
    else if (identifier !== null) this.expression(identifier);
    this.function(node);
  }

  private function(node: FunctionDeclaration): void {
    const line = startLine(node);
    const isVararg = node.parameters.some((parameter) => parameter.type === 'VarargLiteral');
    const scope = this.inFunction(line, isVararg, () => {
      const own = this.scope;
      const { identifier } = node;
      if (identifier?.type === 'MemberExpression' && identifier.indexer === ':') {
        own.parameters.push(this.declare('self', line));
      }
      for (const parameter of node.parameters) {
        if (parameter.type === 'Identifier') own.parameters.push(this.declareNode(parameter));
      }
      if (isVararg) this.declare('arg', line);
      this.nested(line, true, () => this.block(node.body));
    });
    this.functions.set(node, scope);
  }

  private expressions(nodes: readonly Expression[]): void {
    for (const node of nodes) this.expression(node);
  }

  private expression(node: Expression): void {
    this.nested(endLine(node), true, () => this.visit(node));
  }

  /** A left operand or a call's base, which C Lua parses without recursion. */
  private chained(node: Expression): void {
    this.nested(endLine(node), false, () => this.visit(node));
  }

  private visit(node: Expression): void {
    switch (node.type) {
      case 'Identifier':
        this.use(node);
        break;
      case 'NumericLiteral':
        checkNumeral(this.source, node, this.chunk);
        break;
      case 'VarargLiteral':
        this.scope.usesVararg = true;
        break;
      case 'FunctionDeclaration':
        this.function(node);
        break;
      case 'BinaryExpression':
      case 'LogicalExpression':
        this.chained(node.left);
        this.expression(node.right);
        break;
      case 'UnaryExpression':
        this.expression(node.argument);
        break;
      case 'MemberExpression':
        this.chained(node.base);
        break;
      case 'IndexExpression':
        this.chained(node.base);
        this.expression(node.index);
        break;
      case 'CallExpression':
        this.chained(node.base);
        checkList(this.source, rangeOf(node.base)[1], true, this.chunk);
        this.expressions(node.arguments);
        break;
      case 'TableCallExpression':
        this.chained(node.base);
        this.expression(node.arguments);
        break;
      case 'StringCallExpression':
        this.chained(node.base);
        break;
      case 'TableConstructorExpression':
        for (const field of node.fields) {
          if (field.type === 'TableKey') this.expression(field.key);
          this.expression(field.value);
        }
    }
  }
}

/** Whether this is the `arg` that a vararg function declares after its parameters. */
function isArgument({ name, slot, owner }: Variable): boolean {
  return name === 'arg' && owner.isVararg && slot === owner.parameters.length && owner.line > 0;
}

function describe(scope: FunctionScope): string {
  return scope.parent === undefined ? 'main function' : `function at line ${scope.line}`;
}
