/** The bundler collects the style sheets. */
declare module "*.css";
